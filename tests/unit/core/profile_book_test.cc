#include "dlo/core/profile_book.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace dlo {
namespace {

using dlo::testing::must;

TEST(ProfileBook, HoldsTheBuiltInProfilesAndOnesOfOnesOwn) {
  ProfileBook book;
  EXPECT_EQ(must(book.find("kafka")), must(find_profile("kafka")));
  Profile own = with_limit(must(find_profile("standard")), 9);
  own.name = "payments";
  book.set(own);
  EXPECT_EQ(must(book.find("payments")).limit, 9U);
  const auto wrong = book.find("paymnts");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().detail.find("did you mean \"payments\"?"), std::string::npos);
}

TEST(ProfileBook, OverridesHoldForTheirSourceOnly) {
  ProfileBook book;
  Override twice;
  twice.limit = 2;
  book.set_source("orders", twice);
  EXPECT_EQ(must(book.find("standard", "orders")).limit, 2U);
  EXPECT_EQ(must(book.find("standard", "payments")), must(find_profile("standard")));
}

}  // namespace
}  // namespace dlo
