#pragma once

#include <stop_token>

#include "dlo/core/result.h"
#include "dlo/jobs/job_step.h"
#include "dlo/jobs/replay.h"
#include "dlo/store/office.h"

namespace dlo {

/// As `step`, for a job that sends dead letters back. Each goes through
///   taken (replaying, with the job's cursor) → sent → written down (replayed) → cured or returned
/// Who is killed in between sends what was taken once more, under the same ids, and nothing else:
/// targets that know repeats drop them. An executor says at once how it ended: one is taken, run
/// and written down as resolved or as dead again, then the next; `stop` interrupts it, and what it
/// was at is run again.
/// `go_on_for`: a job that nothing slows down (no waves, rate, concurrency or order of keys) goes
/// on with slice after slice for about so long, by `ReplayTargets::ticks`. While one of them is
/// sent the next is taken, and two are in flight at the most; none is when this returns, unless
/// the office or the target fails.
[[nodiscard]] Result<Stepped> replay_step(Office& office, const ReplayTargets& targets,
                                          const Job& job, const JobProgress& progress,
                                          std::size_t most, TimePoint now,
                                          const std::stop_token& stop = {},
                                          Millis go_on_for = Millis{0});

/// The next step for a replay that was cancelled, stopped or failed: what it had taken is sent, or
/// given back if its target does not take it, and what it had sent is watched to its outcome. Over
/// when nothing is left that only this job would deal with.
[[nodiscard]] Result<Stepped> replay_wind_up(Office& office, const ReplayTargets& targets,
                                             const Job& job, const JobProgress& progress,
                                             TimePoint now);

}  // namespace dlo
