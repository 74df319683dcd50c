#pragma once

#include <cstdint>

#include "dlo/core/counters.h"
#include "dlo/core/profile.h"

namespace dlo {

/// Executions whose end somebody told of: by a failure, or by an abandon that counts. Where
/// failures are abandons both counts tell of the same ones.
[[nodiscard]] std::uint64_t reported_ends(const Profile& profile,
                                          const Counters& counters) noexcept;

/// What a check compares with its limit, asked while nothing runs. `failure`, and `abandon` where
/// failures are abandons, are every execution that ended badly, however it did: failures, counted
/// abandons and, with `crash_counts`, runs that were cut off add up to one limit. Any other is the
/// count of that name.
[[nodiscard]] std::uint64_t count_for(const Profile& profile, CounterName counter,
                                      const Counters& counters) noexcept;

}  // namespace dlo
