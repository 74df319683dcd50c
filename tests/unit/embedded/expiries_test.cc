#include "dlo/broker/embedded/expiries.h"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace dlo::testing {
namespace {

using embedded::Expiries;
using embedded::Expiry;
using embedded::never_expires;

constexpr Expiry today = 1'700'000'000;
constexpr Expiry hour = 3600;

const auto everybody = [](std::size_t) { return true; };
const auto nobody = [](std::size_t) { return false; };

TEST(Expiries, TakeTwoBytesEachWhileTheyAreWithinSomeHours) {
  Expiries expiries;
  EXPECT_EQ(expiries.width(), 0U);
  EXPECT_EQ(expiries[0], never_expires);
  for (std::size_t i = 0; i < Expiries::count; ++i) {
    expiries.set(i, today + static_cast<Expiry>(i * 47), everybody);  // 13 hours
  }
  expiries.set(7, never_expires, everybody);
  EXPECT_EQ(expiries.width(), 2U);
  for (std::size_t i = 0; i < Expiries::count; ++i) {
    ASSERT_EQ(expiries[i], i == 7 ? never_expires : today + i * 47);
  }
}

TEST(Expiries, TakeFourBytesEachWhereTheyLieFurtherApart) {
  Expiries expiries;
  for (std::size_t i = 0; i < Expiries::count; ++i) {
    expiries.set(i, today + static_cast<Expiry>(i) * hour, everybody);
  }
  EXPECT_EQ(expiries.width(), 4U);
  for (std::size_t i = 0; i < Expiries::count; ++i) ASSERT_EQ(expiries[i], today + i * hour);
  expiries.reset();
  EXPECT_FALSE(expiries.any());
  expiries.set(3, 5, everybody);
  EXPECT_EQ(expiries.width(), 2U);
  EXPECT_EQ(expiries[3], 5U);
}

TEST(Expiries, OfThoseWhoAreGoneAreInNobodysWay) {
  Expiries expiries;
  for (std::size_t i = 0; i < 4096; ++i) {  // a year, in which each is gone when the next comes
    expiries.set(i % Expiries::count, today + static_cast<Expiry>(i) * 2 * hour, nobody);
    ASSERT_EQ(expiries[i % Expiries::count], today + i * 2 * hour);
  }
  EXPECT_EQ(expiries.width(), 2U);
}

TEST(Expiries, AreExactWhoeverComesAndGoes) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 engine(seed);
    const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
    const Expiry spread = 1U << (4 + random() % 22);
    Expiries expiries;
    std::map<std::size_t, Expiry> there;
    Expiry now = seed % 5 == 0 ? 10 : today;
    for (int step = 0; step < 4000; ++step) {
      const std::size_t i = random() % Expiries::count;
      now += random() % 60;
      if (random() % 3 == 0) {
        there.erase(i);
        continue;
      }
      Expiry expiry = now + random() % spread;
      if (random() % 50 == 0) expiry = random() % 2 == 0 ? never_expires : never_expires - 1;
      expiries.set(i, expiry, [&](std::size_t n) { return there.contains(n); });
      there[i] = expiry;
    }
    for (const auto& [i, expiry] : there) ASSERT_EQ(expiries[i], expiry) << i;
    std::array<Expiry, Expiries::count> copy{};
    expiries.copy_to(copy.data());
    for (const auto& [i, expiry] : there) ASSERT_EQ(copy[i], expiry) << i;
  }
}

}  // namespace
}  // namespace dlo::testing
