#include "dlo/api/body.h"

#include <gtest/gtest.h>
#include <string>

namespace dlo::api {
namespace {

std::string read(std::string_view text) {
  std::string name;
  const auto done = read_object(text, [&](JsonFields& fields) { name = fields.text("name"); });
  return done ? "ok " + name : done.error().detail;
}

TEST(Body, IsOneObjectOfKnownMembers) {
  EXPECT_EQ(read(R"({"name":"x"})"), "ok x");
  EXPECT_EQ(read(""), "ok ");
  EXPECT_NE(read(R"({"nmae":"x"})").find("nmae"), std::string::npos) << "refused by name";
  EXPECT_NE(read(R"({"name":"x"} {})").find("JSON"), std::string::npos);
  EXPECT_NE(read("[]").find("object"), std::string::npos);
}

TEST(Body, AMemberThatStandsTwiceIsRefusedWhereverItIs) {
  EXPECT_NE(read(R"({"name":"x","name":"y"})").find("twice"), std::string::npos);
  EXPECT_NE(read(R"({"name":"x","a":[{"b":1},{"c":{"d":1,"d":2}}]})").find("a.1.c.d"),
            std::string::npos);
}

TEST(Body, DepthIsBounded) {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_NE(read("{\"name\":" + deep + "}").find("ok"), 0U);
}

TEST(Body, MustSayThatItIsJson) {
  Request request;
  request.http.body = "{}";
  EXPECT_FALSE(read_body(request, [](JsonFields&) {}));
  request.http.headers = {{"content-type", "Application/JSON; charset=utf-8"}};
  EXPECT_TRUE(read_body(request, [](JsonFields&) {}));
  request.http.headers = {{"Content-Type", "text/plain"}};
  EXPECT_FALSE(read_body(request, [](JsonFields&) {}));
}

TEST(Body, LinesKeepTheirNumbers) {
  const auto lines = lines_of("a\n\r\n \nb\r\n\nc");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].number, 4U);
  EXPECT_EQ(lines[1].text, "b\r");
  EXPECT_EQ(lines[2].number, 6U);
}

}  // namespace
}  // namespace dlo::api
