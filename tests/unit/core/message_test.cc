#include "dlo/core/message.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

const Headers headers = {{"tenant", "first", HeaderType::text},
                         {"Event-Type", "PaymentCreated", HeaderType::text},
                         {"TENANT", "last", HeaderType::text},
                         {"", "nameless", HeaderType::text}};

TEST(FindHeader, IgnoresTheCaseOfAsciiLetters) {
  ASSERT_NE(find_header(headers, "event-type"), nullptr);
  EXPECT_EQ(find_header(headers, "EVENT-TYPE")->value, "PaymentCreated");
}

TEST(FindHeader, TakesTheLastOfSeveral) {
  EXPECT_EQ(find_header(headers, "tenant")->value, "last");
}

TEST(FindHeader, AnswersNullForWhatIsNotThere) {
  EXPECT_EQ(find_header(headers, "tenan"), nullptr);
  EXPECT_EQ(find_header(headers, "tenants"), nullptr);
  EXPECT_EQ(find_header({}, "tenant"), nullptr);
}

TEST(FindHeader, FindsAHeaderWithoutAName) {
  EXPECT_EQ(find_header(headers, "")->value, "nameless");
}

}  // namespace
}  // namespace dlo
