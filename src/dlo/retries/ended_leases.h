#pragma once

#include <algorithm>
#include <optional>

#include "dlo/engine/due_timer.h"
#include "dlo/retries/rounds.h"
#include "dlo/store/office.h"

namespace dlo {

/// Takes ended leases back: what ran when its process was killed is `pending` again soon after its
/// lease, though nobody claims anything, for a circuit is open, or retries run only now and then,
/// or not at all. Who claims does it by the way. Looks when a lease may have ended, and in any case
/// after `at_latest`: others may have claimed something since. The office outlives it.
/// `timer`, if any, is told of what is due by then: whoever sleeps until a moment does not see that
/// the clock was set past it.
[[nodiscard]] inline Rounds::Duty taking_back_ended(Office& office, Millis at_latest,
                                                    DueTimer* timer) {
  return [&office, at_latest, timer](TimePoint now) -> std::optional<TimePoint> {
    constexpr Millis not_before{5'000};
    const TimePoint last = now + std::max(at_latest, not_before);
    (void)office.claim(0, now, Millis{1}, {});  // if that fails: next time
    AggregateRequest when;
    when.tallies = false;
    when.due = ClaimFrom{};
    const auto numbers = office.aggregate(when);
    if (!numbers) return now + not_before;
    if (timer != nullptr && numbers->next_due && *numbers->next_due <= now) timer->look_again();
    return std::clamp(numbers->next_due.value_or(last), now + not_before, last);
  };
}

}  // namespace dlo
