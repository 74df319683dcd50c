#pragma once

#include <cstddef>

#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/jobs/job_set.h"
#include "dlo/jobs/job_step.h"
#include "dlo/store/office.h"

namespace dlo {

// The set of a job is written down as items that say `planned`: the first of them together with the
// plan, more by the job itself before it begins. Each becomes what came of it; what is still
// `planned` when nothing is left to be taken was changed by somebody else first. So what a plan has
// shown adds up in the end, a limit lets nobody in instead of those, and no list is ever in memory.

/// Of one plan. What else its set holds is written down when it is started.
inline constexpr std::size_t most_planned_at_once = 10'000;

/// The beginning of a new job: the first items of its set and how far that is.
[[nodiscard]] Result<JobCheckpoint> freeze(Office& office, const Job& job);

/// Writes down the next of the set. Only for a progress that is `freezing`.
[[nodiscard]] Result<Stepped> freeze_on(Office& office, const Job& job,
                                        const JobProgress& progress);

/// As `read_slice`, behind what is done, and not beyond the limit that was written down.
[[nodiscard]] Result<JobSlice> read_on(Office& office, const Job& job, const JobProgress& progress,
                                       std::size_t most);

/// Nothing is left to be taken, and not all that was planned has come to something.
[[nodiscard]] bool has_missing(const JobProgress& progress) noexcept;

/// The next of those that are missing become `changed`.
[[nodiscard]] Result<Stepped> account_for(Office& office, const Job& job,
                                          const JobProgress& progress);

}  // namespace dlo
