#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/store/office.h"

namespace dlo {

/// What an item of a job came to, as the office keeps it.
inline constexpr std::string_view item_planned = "planned";  // its turn has not come
inline constexpr std::string_view item_ok = "ok";
inline constexpr std::string_view item_changed = "changed";
inline constexpr std::string_view item_refused = "refused";
inline constexpr std::string_view item_unchanged = "unchanged";  // it is as it should be: ok
// ... of a replay; "sent N" until one of these is known
inline constexpr std::string_view item_looped = "looped";
inline constexpr std::string_view item_verified = "verified";
inline constexpr std::string_view item_presumed = "presumed";
inline constexpr std::string_view item_returned = "returned";
inline constexpr std::string_view item_taken_over = "taken_over";  // a person dealt with it
inline constexpr std::string_view item_behind = "behind";  // an earlier one of its key is open

struct Stepped {
  JobProgress progress;
  bool over = false;                         // nothing is left
  std::string stopped = {};                  // over, because ...
  std::optional<TimePoint> not_before = {};  // there is nothing to do until then
};

/// Whether somebody here runs messages of a source; empty: they say so themselves.
using HasExecutor = std::function<bool(const std::string& source)>;

/// Does the next `most` items of a job, writing what was done, what came of it and how far the job
/// is in one list. Who is killed anywhere in here and calls again with the progress the office has
/// skips nothing and does nothing twice.
[[nodiscard]] Result<Stepped> step(Office& office, const Job& job, const JobProgress& progress,
                                   std::size_t most, TimePoint now,
                                   const HasExecutor& has_executor = {});

}  // namespace dlo
