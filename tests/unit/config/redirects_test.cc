// Where replays go instead: `replay.redirects`.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/config/reading_text.h"

#include "dlo/config/config.h"

namespace dlo {
namespace {

ConfigReading reading(std::string_view file) {
  return read_config({file, {}, {}});
}

/// "3: text", one line each.

std::string problems_in(std::string_view file) {
  return problems_of(reading(file));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Redirecting, RulesAreReadInOrder) {
  const auto read = reading(
      "replay:\n  redirects:\n    - {from: 'orders*', type: Paid, to: paid}\n"
      "    - from: '*'\n      to: all\n");
  EXPECT_EQ(problems_of(read), "");
  EXPECT_EQ(read.config.redirects,
            (std::vector<RedirectRule>{{"orders*", "Paid", "paid"}, {"*", "", "all"}}));
  const auto shown = show_config(read.config, "dlo.yaml", false);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown.front().path, "replay.redirects");
  EXPECT_EQ(shown.front().value, "orders*, type Paid -> paid; * -> all");
}

TEST(Redirecting, EveryMistakeIsNamedWithItsLine) {
  const std::string found = problems_in(
      "replay:\n  redirect: x\n  redirects:\n    - {form: a, to: b}\n    - {from: a}\n"
      "    - {from: a, to: 'exec:mail'}\n    - word\n    - {from: [a], to: b}\n");
  EXPECT_TRUE(has(found, "2: unknown setting of replay \"redirect\": did you mean \"redirects\"?"))
      << found;
  EXPECT_TRUE(
      has(found, "4: unknown setting of replay.redirects[1] \"form\": did you mean \"from\"?"))
      << found;
  EXPECT_TRUE(has(found, "4: replay.redirects[1] must say whom it is about")) << found;
  EXPECT_TRUE(has(found, "5: replay.redirects[2] must say where they go")) << found;
  EXPECT_TRUE(has(found, "6: replay.redirects[3].to: \"exec:mail\" is no queue")) << found;
  EXPECT_TRUE(has(found, "7: replay.redirects[4] holds settings by name")) << found;
  EXPECT_TRUE(has(found, "8: replay.redirects[5].from takes one value")) << found;
  EXPECT_TRUE(has(problems_in("replay: x\n"), "1: replay holds settings by name"));
  EXPECT_TRUE(has(problems_in("replay: {redirects: {a: b}}\n"), "is a list of rules"));
}

TEST(Redirecting, ARuleThatIsNeverReachedIsAWarning) {
  const auto read =
      reading("replay:\n  redirects:\n    - {from: '*', to: a}\n    - {from: orders, to: b}\n");
  EXPECT_EQ(problems_of(read), "");
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings.front().line, 4U);
  EXPECT_TRUE(has(read.warnings.front().text, "never reached: rule 1 (* -> a)"));
}

}  // namespace
}  // namespace dlo
