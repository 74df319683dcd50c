#pragma once

#include <cstddef>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/store/office.h"

namespace dlo {

/// What the audit trail calls it; its detail is the job and its report.
inline constexpr std::string_view job_removal_act = "job.remove";

/// Removes jobs that ended at least `keep` ago, or were planned then and never started: first the
/// job, whose report stays in the audit trail (by `office`), then its items, a slice at a time, so
/// that nobody waits for ten million of them. Answers how many jobs and items went; while that is
/// not zero there may be more. Costs what is due, however many jobs there are.
[[nodiscard]] Result<std::size_t> forget_jobs(Office& office, Millis keep, TimePoint now);

}  // namespace dlo
