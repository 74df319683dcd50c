#include "dlo/core/places.h"

#include <algorithm>

namespace dlo {
namespace {

constexpr Millis shortest_between{2};

}  // namespace

std::optional<TimePoint> take_place(Places& places, TimePoint now) noexcept {
  if (places.limit == 0 || places.taken < places.limit) {
    ++places.taken;
    return std::nullopt;
  }
  const TimePoint behind = std::max(places.line_end, now) + places.between / 2;
  places.line_end = std::min(behind, now + longest_in_line);
  return places.line_end;
}

void leave_place(Places& places, TimePoint now) noexcept {
  const bool full = places.taken == places.limit;
  if (full && places.last_end != TimePoint{}) {
    const Millis passed = std::clamp(Millis{now - places.last_end}, Millis{0}, longest_in_line);
    places.between = std::max((places.between * 3 + passed) / 4, shortest_between);
  }
  places.last_end = now;
  if (places.taken > 0) --places.taken;
}

}  // namespace dlo
