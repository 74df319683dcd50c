#pragma once

#include <cstddef>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/jobs/job_book.h"
#include "dlo/store/office.h"

namespace dlo {

/// What the audit trail calls it; its detail names every dead letter.
inline constexpr std::string_view reclaim_act = "replay.reclaim";

/// Whatever is `replaying` although nobody sends it any more is `pending` again: its lease has run
/// out, and no job that runs, is paused or is wound up has it in hand, as these finish what they
/// took. So the state has an exit (I7) when whoever sent it died. It may have been sent all the
/// same: its replays stay counted, so that its death there is known as the next occurrence of it
/// (R3). In the audit trail, by `office`. Answers how many.
[[nodiscard]] Result<std::size_t> reclaim_replaying(Office& office, JobBook& book, TimePoint now);

}  // namespace dlo
