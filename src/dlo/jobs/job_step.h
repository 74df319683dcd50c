#pragma once

#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/store/office.h"

namespace dlo {

/// What an item of a job came to, as the office keeps it.
inline constexpr std::string_view item_ok = "ok";
inline constexpr std::string_view item_changed = "changed";
inline constexpr std::string_view item_refused = "refused";

struct Stepped {
  JobProgress progress;
  bool over = false;  // nothing is left
};

/// Does the next `most` items of a job, writing what was done, what came of it and how far the job
/// is in one list. Who is killed anywhere in here and calls again with the progress the office has
/// skips nothing and does nothing twice.
[[nodiscard]] Result<Stepped> step(Office& office, const Job& job, const JobProgress& progress,
                                   std::size_t most, TimePoint now);

}  // namespace dlo
