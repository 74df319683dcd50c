// The short cut past nearly every word of an error text must let pass what redact looks for.
#include "dlo/core/redact_endings.h"

#include <algorithm>
#include <cctype>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/redact.h"

namespace dlo {
namespace {

using redact_tables::endings;

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names = {"by", "key", "code", "number"};
  const auto add = [&](std::span<const std::string_view> list) {
    names.insert(names.end(), list.begin(), list.end());
  };
  add(redact_tables::telling);
  add(redact_tables::suspicious);
  add(redact_tables::authorization);
  add(redact_tables::cookies);
  add(redact_tables::code_endings);
  add(redact_tables::token_schemes);
  add(redact_tables::oracle_drivers);
  add(redact_tables::oracle_programs);
  for (const auto& code : redact_tables::codes) names.push_back(code.name);
  return names;
}

TEST(RedactEndings, LetPassEveryNameThatIsLookedForHoweverItIsWritten) {
  for (const std::string_view name : all_names()) {
    std::string capitals(name);
    std::ranges::transform(capitals, capitals.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::string parted(name);
    parted.insert(parted.size() - 1, "_");
    EXPECT_TRUE(endings.may_matter(name)) << name;
    EXPECT_TRUE(endings.may_matter(capitals)) << capitals;
    EXPECT_TRUE(endings.may_matter("x" + std::string(name))) << name;
    EXPECT_TRUE(endings.may_matter(std::string(name) + "-")) << name;
    EXPECT_TRUE(endings.may_matter(parted)) << parted;
  }
}

TEST(RedactEndings, StopMostWordsOfASentence) {
  std::size_t passed = 0;
  for (const std::string_view word :
       {"unprocessable", "the", "names", "a", "we", "do", "not", "have", "connection", "failed",
        "timeout", "after", "1", "ms"}) {
    passed += endings.may_matter(word) ? 1 : 0;
  }
  EXPECT_LE(passed, 3U);
}

TEST(RedactEndings, LetPassEverySchemeBeforeItsCredentials) {
  for (const std::string_view scheme : redact_tables::token_schemes) {
    if (scheme == "apikey") continue;  // the name of a secret: it needs a sign behind it
    const std::string text = "sent " + std::string(scheme) + " dXNlcjpwYXNzd29yZDE= to it";
    EXPECT_EQ(redact(text), "sent " + std::string(scheme) + " *** to it");
  }
}

}  // namespace
}  // namespace dlo
