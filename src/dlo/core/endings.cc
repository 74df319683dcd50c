#include "dlo/core/endings.h"

#include <algorithm>
#include <string>

#include "dlo/core/dependencies.h"

namespace dlo {

std::uint64_t reported_ends(const Profile& profile, const Counters& counters) noexcept {
  if (profile.failure_abandons) return std::max(counters.failure, counters.abandon);
  return std::uint64_t{counters.failure} + counters.abandon;
}

std::uint64_t count_for(const Profile& profile, CounterName counter,
                        const Counters& counters) noexcept {
  if (counter == CounterName::abandon_or_fetch) {
    return std::max<std::uint64_t>(count_for(profile, CounterName::abandon, counters),
                                   counters.fetch);
  }
  const bool of_ends = counter == CounterName::failure ||
                       (counter == CounterName::abandon && profile.failure_abandons);
  if (!of_ends) return value_of(counters, counter);
  const std::uint64_t reported = reported_ends(profile, counters);
  // A crash is written down by whoever comes next, which may have been an abandon: that counts
  // abandons alone. The start marks know of every run.
  return profile.crash_counts ? std::max<std::uint64_t>(reported, counters.attempt) : reported;
}

bool was_used_up(const DeadLetter& running) noexcept {
  const std::string& reason = running.reason;
  if (reason == waits_reason || reason == blocked_reason) return false;
  // A crash is told as one either way.
  if (reason == running.category && running.category != crash_category) return false;
  // It ended without any, and people tried it since.
  static const ReasonNames usual;
  if (reason == usual.never || reason == usual.non_retryable) return false;
  if (running.counters.retry > running.limit) return true;
  // Where attempts or failures are counted the first one counts, too. What is never retried may
  // have a reason of its own before its limit is reached.
  return running.counters.retry == running.limit && !running.policy.starts_with("never");
}

}  // namespace dlo
