#include "dlo/api/target.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/must.h"

namespace dlo::api {
namespace {

using testing::must;

TEST(Target, IsTakenApartAndDecodedOnce) {
  const Target target = must(parse_target("/v1/queues/a%2Fb%20c/messages?q=a%3Ab+c&x&y=2&"));
  EXPECT_EQ(target.steps, (std::vector<std::string>{"v1", "queues", "a/b c", "messages"}));
  ASSERT_EQ(target.query.size(), 3U);
  EXPECT_EQ(target.query[0], (std::pair<std::string, std::string>{"q", "a:b c"}));
  EXPECT_EQ(target.query[1], (std::pair<std::string, std::string>{"x", ""}));
  EXPECT_EQ(must(parse_target("/a%252e%252e")).steps.front(), "a%2e%2e") << "once";
  EXPECT_TRUE(must(parse_target("/")).steps.empty());
}

TEST(Target, TricksAreRefused) {
  for (const char* trick :
       {"",          "v1",      "*",        "http://x/v1",  "//",        "/v1//dead-letters",
        "/v1/",      "/v1/./x", "/v1/../x", "/v1/%2e%2e/x", "/v1/%2E/x", "/v1/a%00b",
        "/v1/a%0ab", "/v1/%",   "/v1/%4",   "/v1/%zz",      "/v1/%ff",   "/v1?q=%f",
        "/v1?q=%ff", "/v1#x",   "/v1/\x7f"}) {
    EXPECT_FALSE(parse_target(trick)) << trick;
  }
}

TEST(Target, AParameterThatStandsTwiceIsRefusedByName) {
  const auto target = parse_target("/v1/dead-letters?limit=1&q=a&%6Cimit=2");
  ASSERT_FALSE(target);
  EXPECT_NE(target.error().detail.find("\"limit\" stands twice"), std::string::npos)
      << target.error().detail;
}

}  // namespace
}  // namespace dlo::api
