// Words for schedules and common failures (S2-31, S2-32, S2-55, S2-56), and jitter under +safe.
#include "dlo/core/retry_names.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/core/profile_book.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::must;

TEST(RetryNames, TheBuiltInTemplatesAreTheLimitsOfTheDocument) {  // S2-31, S2-32
  struct Row {
    const char* name;
    const char* policy;
    std::uint32_t retries;
    const char* category;
  };
  for (const Row& row : {Row{"rate-limit", "exponential base=1m factor=2 cap=1h", 5, "transient"},
                         Row{"network", "exponential base=1m factor=2 cap=1h", 3, "network"},
                         Row{"resource", "linear base=5m", 2, "resource"},
                         Row{"permanent", "never", 0, "permanent"}}) {
    const RetryTemplate made = must(RetryNames{}.find_template(row.name));
    EXPECT_EQ(print(made.asked.policy.value()), row.policy) << row.name;
    EXPECT_EQ(made.asked.max_retries, row.retries) << row.name;
    EXPECT_EQ(made.category, row.category);
  }
}

TEST(RetryNames, AnUnknownTemplateIsRefusedWithTheValidOnes) {  // S2-56
  const auto found = RetryNames{}.find_template("rate_limit");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().detail,
            "unknown template \"rate_limit\": did you mean \"rate-limit\"? Valid: network, "
            "permanent, rate-limit, resource");
}

TEST(RetryNames, AScheduleIsFoundByItsName) {  // S2-55
  const NamedPolicies named = {{"fib", must(parse_policy("list delays=1m,1m,2m,3m,5m,8m"))}};
  EXPECT_EQ(print(must(parse_workflow_policy("fib", named))), "list delays=1m,1m,2m,3m,5m,8m");
  EXPECT_EQ(print(must(parse_workflow_policy("linear", named))), "linear base=5m");
  EXPECT_EQ(print(must(parse_workflow_policy("fixed base=2s", named))), "fixed base=2s");
  const auto unknown = parse_workflow_policy("fibb", named);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().detail.find("did you mean \"fib\"?"), std::string::npos);
  EXPECT_NE(unknown.error().detail.find("exponential"), std::string::npos);
}

TEST(RetryRequests, APolicyByItsNameKeepsTheJitterOfItsProfile) {  // R12: +safe has jitter
  RetryRequest asked{must(parse_workflow_policy("exponential")), 5, true};
  Headers headers;
  put_request(headers, asked);
  EXPECT_EQ(request_of(headers), asked) << "and later failures are decided alike";
  EXPECT_EQ(print(with_request(must(find_profile("workflow")), asked).retry),
            "exponential base=1m factor=2 cap=1h");
  EXPECT_EQ(print(with_request(must(find_profile("workflow+safe")), asked).retry),
            "exponential base=1m factor=2 cap=1h jitter=equal");
  asked.plain = false;
  EXPECT_EQ(print(with_request(must(find_profile("workflow+safe")), asked).retry),
            "exponential base=1m factor=2 cap=1h")
      << "who writes it in full gets what he wrote";
  asked = {must(parse_workflow_policy("immediate")), 5, true};
  EXPECT_EQ(print(with_request(must(find_profile("workflow+safe")), asked).retry), "immediate");
}

TEST(ProfileBooks, AMessageWinsOverItsEventTypeAndThatOverItsSource) {  // R12, S3-52
  ProfileBook book;
  book.set_source("payments", {.limit = 7, .policy = must(parse_policy("fixed base=7s"))});
  book.set_event_type("CardDeclined", {.limit = 2});
  Message message;
  message.source = "payments";
  EXPECT_EQ(must(book.find("standard", message)).limit, 7U);
  message.event_type = "CardDeclined";
  EXPECT_EQ(must(book.find("standard", message)).limit, 2U);
  EXPECT_EQ(print(must(book.find("standard", message)).retry), "fixed base=7s");
  message.headers = {{"dlo-limit", "9"}};
  EXPECT_EQ(must(book.find("standard", message)).limit, 9U);
  message.headers = {{"dlo-limit", "many"}};
  EXPECT_EQ(must(book.find("standard", message)).limit, 2U) << "what cannot be read says nothing";
}

TEST(ProfileBooks, MessagesShareAKeyOnlyIfTheSameIsOverridden) {  // R12
  ProfileBook book;
  book.set_source("a", {.limit = 7});
  book.set_event_type("b", {.limit = 2});
  const auto key = [&](std::string source, std::string type, Headers headers = {}) {
    Message message;
    message.source = std::move(source);
    message.event_type = std::move(type);
    message.headers = std::move(headers);
    return book.override_key(message);
  };
  EXPECT_EQ(key("x", "y"), "");
  EXPECT_EQ(key("a", "y"), key("a", "z"));
  EXPECT_NE(key("a", "b"), key("a", "y"));
  EXPECT_NE(key("a", "b"), key("x", "b"));
  EXPECT_NE(key("a", "", {{"dlo-limit", "3"}}), key("a", "", {{"dlo-limit", "4"}}));
}

}  // namespace
}  // namespace dlo
