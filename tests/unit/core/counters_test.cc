#include "dlo/core/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "support/must.h"

namespace dlo {
namespace {

using ::testing::HasSubstr;

constexpr Counters sample{
    .fetch = 7, .attempt = 6, .failure = 5, .abandon = 4, .retry = 3, .replay = 2, .total = 9};

TEST(Counters, AProfileReadsFactsAndWhatFollowsFromThem) {
  EXPECT_EQ(value_of(sample, CounterName::fetch), 7U);
  EXPECT_EQ(value_of(sample, CounterName::attempt), 6U);
  EXPECT_EQ(value_of(sample, CounterName::failure), 5U);
  EXPECT_EQ(value_of(sample, CounterName::abandon), 4U);
  EXPECT_EQ(value_of(sample, CounterName::retry), 3U);
  EXPECT_EQ(value_of(sample, CounterName::next_retry), 4U);
  EXPECT_EQ(value_of(sample, CounterName::abandon_or_fetch), 7U);
}

TEST(Counters, TheRetryAfterTheLastOneDoesNotWrapRound) {
  Counters full;
  full.retry = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(value_of(full, CounterName::next_retry), 4'294'967'296U);
}

TEST(Counters, NamesReadBack) {
  for (const CounterName name :
       {CounterName::fetch, CounterName::attempt, CounterName::failure, CounterName::abandon,
        CounterName::retry, CounterName::next_retry, CounterName::abandon_or_fetch}) {
    EXPECT_EQ(parse_counter_name(name_of(name)), name);
  }
  EXPECT_FALSE(parse_counter_name("Fetch"));
}

TEST(Counters, AreSetByNameAndPrintedInOneLine) {
  Counters counters;
  for (const auto& [name, value] : {std::pair{"fetch", 7U},
                                    {"attempt", 6U},
                                    {"failure", 5U},
                                    {"abandon", 4U},
                                    {"retry", 3U},
                                    {"replay", 2U},
                                    {"total", 9U}}) {
    testing::must(set_counter(counters, name, value));
  }
  EXPECT_EQ(counters, sample);
  EXPECT_EQ(print(counters), "fetch=7 attempt=6 failure=5 abandon=4 retry=3 replay=2 total=9");
}

TEST(Counters, ADerivedOneCannotBeSet) {
  Counters counters;
  const auto set = set_counter(counters, "next_retry", 3);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().detail, HasSubstr("Valid: fetch, attempt"));
  EXPECT_EQ(counters, Counters{});
}

}  // namespace
}  // namespace dlo
