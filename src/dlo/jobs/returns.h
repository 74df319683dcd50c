#pragma once

#include <string>

#include "dlo/core/dead_letter.h"
#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/store/office.h"

namespace dlo {

/// Writes down in which group one is that came back; `sent_from` is the group it was sent from.
void count_return(JobProgress& progress, const Id128& sent_from, const DeadLetter& record);

/// "20 as group 3f…, 2 as group 91…"; empty if nothing came back.
[[nodiscard]] std::string returned_text(const JobProgress& progress);

/// The groups whose fix was tried by `job` and did not work, whoever had taken them up: what was
/// acknowledged or being fixed is open again, in the name of the job. Resolved ones were opened by
/// the death itself; what people snoozed or ignored stays theirs. Doing it twice is doing it once.
[[nodiscard]] Result<void> reopen_groups(Office& office, const Job& job,
                                         const JobProgress& progress, TimePoint now);

}  // namespace dlo
