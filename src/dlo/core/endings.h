#pragma once

#include <cstdint>

#include "dlo/core/counters.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/profile.h"

namespace dlo {

/// Executions whose end somebody told of: by a failure, or by an abandon that counts. Where
/// failures are abandons both counts tell of the same ones.
[[nodiscard]] std::uint64_t reported_ends(const Profile& profile,
                                          const Counters& counters) noexcept;

/// What a check compares with its limit, asked while nothing runs. `failure`, and `abandon` where
/// failures are abandons, are every execution that ended badly, however it did: failures, counted
/// abandons and, with `crash_counts`, runs that were cut off add up to one limit.
/// `abandon_or_fetch` is the greater of that `abandon` and the claims. Any other is the count of
/// that name.
[[nodiscard]] std::uint64_t count_for(const Profile& profile, CounterName counter,
                                      const Counters& counters) noexcept;

/// Whether the retries of a record that runs now had been used up before, so that only a person can
/// have asked for this run. Asked without its profile, which may be gone: the record says more than
/// what it failed of or waits for, and ran as often as its limit allows, whatever is counted. For a
/// number in statistics: a profile of one's own that counts attempts, or has other reasons for what
/// it never retries, may be told wrong where a run by hand is killed.
[[nodiscard]] bool was_used_up(const DeadLetter& running) noexcept;

}  // namespace dlo
