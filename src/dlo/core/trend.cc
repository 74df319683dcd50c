#include "dlo/core/trend.h"

#include <algorithm>
#include <chrono>

namespace dlo {
namespace {

using Buckets = std::vector<TrendBucket>;

void forget_old(Buckets& buckets, std::int64_t kept) {
  if (buckets.empty()) return;
  const std::int64_t oldest = buckets.back().start - kept + 1;
  const auto first = std::find_if(buckets.begin(), buckets.end(),
                                  [oldest](const TrendBucket& b) { return b.start >= oldest; });
  buckets.erase(buckets.begin(), first);
}

void count_in(Buckets& buckets, std::int64_t start, std::int64_t deaths, std::int64_t kept) {
  const auto place = std::lower_bound(
      buckets.begin(), buckets.end(), start,
      [](const TrendBucket& bucket, std::int64_t wanted) { return bucket.start < wanted; });
  const bool known = place != buckets.end() && place->start == start;
  if (deaths > 0) {
    const auto more = static_cast<std::uint64_t>(deaths);
    if (known) {
      place->count += more;
    } else {
      buckets.insert(place, {start, more});
      forget_old(buckets, kept);
    }
  } else if (known) {
    place->count -= std::min(place->count, static_cast<std::uint64_t>(-deaths));
    if (place->count == 0) buckets.erase(place);
  }
}

}  // namespace

std::int64_t hour_of(TimePoint at) noexcept {
  return std::chrono::floor<std::chrono::hours>(at).time_since_epoch().count();
}

std::int64_t day_of(TimePoint at) noexcept {
  return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count();
}

void count_deaths(Trend& trend, TimePoint at, std::int64_t deaths) {
  if (deaths == 0) return;
  count_in(trend.hours, hour_of(at), deaths, Trend::hours_kept);
  count_in(trend.days, day_of(at), deaths, Trend::days_kept);
}

void add_trend(Trend& trend, const Trend& more) {
  // Newest first: what is too old beside the newest then falls out instead of coming and going.
  const auto add = [](Buckets& into, const Buckets& from, std::int64_t kept) {
    for (auto bucket = from.rbegin(); bucket != from.rend(); ++bucket) {
      count_in(into, bucket->start, static_cast<std::int64_t>(bucket->count), kept);
    }
  };
  add(trend.hours, more.hours, Trend::hours_kept);
  add(trend.days, more.days, Trend::days_kept);
}

std::uint64_t deaths_in_hours(const Trend& trend, std::int64_t first, std::int64_t last) noexcept {
  std::uint64_t sum = 0;
  for (const TrendBucket& bucket : trend.hours) {
    if (bucket.start >= first && bucket.start <= last) sum += bucket.count;
  }
  return sum;
}

}  // namespace dlo
