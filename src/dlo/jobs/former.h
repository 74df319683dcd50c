#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo {

/// What to write along with an act that ends a record, so that a restore knows the way back. Of one
/// that had ended already (resolved, then archived) the whole way is kept, one restore a step.
[[nodiscard]] Result<Change> remember_status(Office& office, const RecordId& id, Status status);
/// The same for a discard: also since when, and that it is to be removed when its grace is over
/// (discard_keeper.h).
[[nodiscard]] Result<std::vector<Change>> remember_discard(Office& office, const RecordId& id,
                                                           Status status, TimePoint now);

/// For one that is being discarded and of which nobody noted since when.
[[nodiscard]] Result<std::vector<Change>> note_discard(Office& office, const RecordId& id,
                                                       TimePoint now);

struct Former {
  Status status = Status::pending;
  std::vector<Change> changes{};  // to be written with the restore: that step has been gone back
};
/// What a restore of a record in `status` goes back to: `pending` if nobody remembered.
[[nodiscard]] Result<Former> former_of(Office& office, const RecordId& id, Status status);
/// When it was last discarded; nothing if it was closed otherwise since, or never.
[[nodiscard]] Result<std::optional<TimePoint>> discarded_at(Office& office, const RecordId& id);

/// What is to be removed, oldest discard first: keys are a time and an id.
inline constexpr const char* discard_kind = "discard_due";
struct DiscardEntry {
  TimePoint at{};
  RecordId id;
};
[[nodiscard]] std::optional<DiscardEntry> parse_discard_key(const std::string& key);

}  // namespace dlo
