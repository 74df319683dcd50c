#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dlo/core/time.h"

namespace dlo {

/// How many died in one hour or one day.
struct TrendBucket {
  std::int64_t start = 0;  // hours or days since 1970, UTC
  std::uint64_t count = 0;
  bool operator==(const TrendBucket&) const = default;
};

/// How a group's deaths lie in time: counted as they come, so that nobody ever counts records.
/// Oldest first, hours and days without a death left out. Bounded: what is older than these,
/// measured from the newest bucket, is forgotten, and a death that comes in late is not counted.
struct Trend {
  static constexpr std::int64_t hours_kept = 7 * 24;
  static constexpr std::int64_t days_kept = 90;
  std::vector<TrendBucket> hours;
  std::vector<TrendBucket> days;
  bool operator==(const Trend&) const = default;
};

/// The hour and the day a moment is in, since 1970.
[[nodiscard]] std::int64_t hour_of(TimePoint at) noexcept;
[[nodiscard]] std::int64_t day_of(TimePoint at) noexcept;

/// `deaths` more at `at`; fewer if it is negative, never below none.
void count_deaths(Trend& trend, TimePoint at, std::int64_t deaths);
/// Two groups become one.
void add_trend(Trend& trend, const Trend& more);
/// How many died in the hours `first` to `last`, both counted.
[[nodiscard]] std::uint64_t deaths_in_hours(const Trend& trend, std::int64_t first,
                                            std::int64_t last) noexcept;

}  // namespace dlo
