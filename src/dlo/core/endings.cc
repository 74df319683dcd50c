#include "dlo/core/endings.h"

#include <algorithm>

namespace dlo {

std::uint64_t reported_ends(const Profile& profile, const Counters& counters) noexcept {
  if (profile.failure_abandons) return std::max(counters.failure, counters.abandon);
  return std::uint64_t{counters.failure} + counters.abandon;
}

std::uint64_t count_for(const Profile& profile, CounterName counter,
                        const Counters& counters) noexcept {
  const bool of_ends = counter == CounterName::failure ||
                       (counter == CounterName::abandon && profile.failure_abandons);
  if (!of_ends) return value_of(counters, counter);
  const std::uint64_t reported = reported_ends(profile, counters);
  // A crash is written down by whoever comes next, which may have been an abandon: that counts
  // abandons alone. The start marks know of every run.
  return profile.crash_counts ? std::max<std::uint64_t>(reported, counters.attempt) : reported;
}

}  // namespace dlo
