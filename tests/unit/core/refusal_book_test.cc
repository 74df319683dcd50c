#include "dlo/core/refusal_book.h"

#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::noon;

RefusalBook small_book() {
  RefusalBook::Limits limits;
  limits.at_once = 3;
  limits.one_more_every = Millis{60s};
  limits.most_askers = 10;
  return RefusalBook(limits);
}

TEST(RefusalBook, AFloodIsWrittenDownUpToALimitAndCountedBeyondIt) {
  RefusalBook book = small_book();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(book.note("ana", noon), 0U) << i;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(book.note("ana", noon + Millis{i}), std::nullopt);
  EXPECT_EQ(book.note("ana", noon + 61s), 1000U) << "one more, which says how many were not";
  EXPECT_EQ(book.note("ana", noon + 61s), std::nullopt);
}

TEST(RefusalBook, WhoeverWaitsHasAllOfThemAgainAndNoMore) {
  RefusalBook book = small_book();
  for (int i = 0; i < 4; ++i) (void)book.note("ana", noon);
  EXPECT_EQ(book.note("ana", noon + 24h), 1U);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(book.note("ana", noon + 24h), 0U);
  EXPECT_EQ(book.note("ana", noon + 24h), std::nullopt);
}

TEST(RefusalBook, OneAskerTakesNothingFromAnother) {
  RefusalBook book = small_book();
  for (int i = 0; i < 10; ++i) (void)book.note("ana", noon);
  EXPECT_EQ(book.note("bob", noon), 0U);
}

TEST(RefusalBook, RemembersABoundedNumberOfAskers) {
  RefusalBook book = small_book();
  for (int i = 0; i < 10'000; ++i) {
    (void)book.note("asker " + std::to_string(i), noon);
    ASSERT_LE(book.size(), 10U);
  }
}

TEST(RefusalBook, AClockThatIsSetBackGivesNothing) {
  RefusalBook book = small_book();
  for (int i = 0; i < 3; ++i) (void)book.note("ana", noon);
  EXPECT_EQ(book.note("ana", noon - 24h), std::nullopt);
}

}  // namespace
}  // namespace dlo
