#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo {

/// What to write along with an act that ends a record, so that a restore knows the way back.
[[nodiscard]] PutDocument remember_status(const RecordId& id, Status status);
/// The same for a discard: also since when, and that it is to be removed when its grace is over
/// (discard_keeper.h).
[[nodiscard]] std::vector<Change> remember_discard(const RecordId& id, Status status,
                                                   TimePoint now);

/// The status a restore goes back to: `pending` if nobody remembered.
[[nodiscard]] Result<Status> former_status(Office& office, const RecordId& id);
/// When it was last discarded; nothing if it was closed otherwise since, or never.
[[nodiscard]] Result<std::optional<TimePoint>> discarded_at(Office& office, const RecordId& id);

inline constexpr const char* former_kind = "former_status";
/// What is to be removed, oldest discard first: keys are a time and an id.
inline constexpr const char* discard_kind = "discard_due";
struct DiscardEntry {
  TimePoint at{};
  RecordId id;
};
[[nodiscard]] std::optional<DiscardEntry> parse_discard_key(const std::string& key);

}  // namespace dlo
