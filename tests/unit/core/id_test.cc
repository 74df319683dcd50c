#include "dlo/core/id.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>

namespace dlo {
namespace {

TEST(Id128, PrintsAsThirtyTwoLowerCaseHexDigits) {
  EXPECT_EQ(to_string(Id128{}), "00000000000000000000000000000000");
  EXPECT_EQ(to_string(Id128{0x0123456789abcdefULL, 0xfedcba9876543210ULL}),
            "0123456789abcdeffedcba9876543210");
}

TEST(Id128, ReadsBackWhateverItPrints) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low) {
    const Id128 id{high, low};
    RC_ASSERT(parse_id(to_string(id)) == id);
  }));
}

TEST(Id128, ReadsUpperCaseToo) {
  EXPECT_EQ(parse_id("0123456789ABCDEFFEDCBA9876543210"),
            (Id128{0x0123456789abcdefULL, 0xfedcba9876543210ULL}));
}

TEST(Id128, RefusesEverythingElse) {
  for (const std::string text :
       {"", "0", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100",
        "0123456789abcdeffedcba987654321g", " 123456789abcdeffedcba9876543210",
        "+123456789abcdeffedcba9876543210", "0x23456789abcdeffedcba9876543210",
        "01234567-89ab-cdef-fedc-ba9876543"}) {
    EXPECT_EQ(parse_id(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_id(std::string(32, '\0')), std::nullopt);
}

}  // namespace
}  // namespace dlo
