#include "dlo/core/redirect.h"

#include <gtest/gtest.h>
#include <vector>

namespace dlo {
namespace {

TEST(Redirects, PatternsFitByThisTable) {
  struct Row {
    const char* pattern;
    const char* text;
    bool fits;
  };
  const Row rows[] = {
      {"orders", "orders", true},
      {"orders", "orders2", false},
      {"orders", "order", false},
      {"orders*", "orders", true},
      {"orders*", "orders-eu", true},
      {"orders*", "my-orders", false},
      {"*orders", "my-orders", true},
      {"*", "", true},
      {"*", "anything", true},
      {"", "", true},
      {"", "x", false},
      {"a*b*c", "aXXbYYc", true},
      {"a*b*c", "abc", true},
      {"a*b*c", "acb", false},
      {"*a*", "bab", true},
      {"a*a", "a", false},
      {"a**b", "ab", true},
      {"Orders", "orders", false},
      {"a*bab", "abbab", true},
      {"*ab*abc", "abababc", true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(fits(row.pattern, row.text), row.fits) << row.pattern << " " << row.text;
}

TEST(Redirects, WhatWasSaidComesFirstThenTheFirstRuleThatFitsThenTheSource) {
  const std::vector<RedirectRule> rules = {
      {"orders*", "Paid", "paid"}, {"orders*", "", "orders-v2"}, {"*", "Mail*", "mails"}};
  struct Row {
    const char* said;
    const char* source;
    const char* type;
    Direction expected;
  };
  const Row rows[] = {
      {"", "orders", "Paid", {"paid", 0}},      {"", "orders-eu", "Sent", {"orders-v2", 1}},
      {"", "orders", "", {"orders-v2", 1}},     {"", "shop", "MailBounced", {"mails", 2}},
      {"", "shop", "Paid", {"shop"}},           {"other", "orders", "Paid", {"other"}},
      {"exec:x", "orders", "Paid", {"exec:x"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(direction_of(row.said, rules, row.source, row.type), row.expected)
        << row.source << " " << row.type;
  }
  EXPECT_EQ(direction_of("", {}, "orders", "Paid"), Direction{"orders"});
}

TEST(Redirects, ARuleThatIsNeverReachedIsFound) {
  const std::vector<RedirectRule> rules = {{"orders*", "", "a"},   {"orders-eu", "Paid", "b"},
                                           {"mails", "Sent", "c"}, {"mails", "", "d"},
                                           {"*", "", "e"},         {"x", "", "f"}};
  EXPECT_EQ(hidden_by(rules, 0), std::nullopt);
  EXPECT_EQ(hidden_by(rules, 1), 0U);
  EXPECT_EQ(hidden_by(rules, 3), std::nullopt) << "the one before is for one type";
  EXPECT_EQ(hidden_by(rules, 4), std::nullopt);
  EXPECT_EQ(hidden_by(rules, 5), 4U);
}

TEST(Redirects, ADirectionIsToldWithItsRule) {
  const std::vector<RedirectRule> rules = {{"orders*", "Paid", "paid"}};
  EXPECT_EQ(describe(direction_of("", rules, "orders", "Paid"), rules),
            "to paid, by redirect rule 1 (orders*, type Paid -> paid)");
  EXPECT_EQ(describe(direction_of("", rules, "mails", ""), rules), "to mails, where it came from");
}

}  // namespace
}  // namespace dlo
