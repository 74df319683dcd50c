#pragma once

#include <string>
#include <vector>

#include "dlo/api/request.h"
#include "dlo/core/id.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/json/writer.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// What somebody wrote beside a dead letter. Kept as documents of their own, so that a replay, a
/// new occurrence or an edit leaves them alone.
struct Note {
  TimePoint at{};
  std::string by;
  std::string text;
};

/// The change that keeps a note. `salt` tells two notes of one millisecond apart.
[[nodiscard]] PutDocument keep_note(const RecordId& id, const Note& note, std::uint64_t salt);
/// Oldest first.
[[nodiscard]] Result<std::vector<Note>> notes_of(Office& office, const RecordId& id);
void write_json(JsonWriter& json, const std::vector<Note>& notes);

/// POST /v1/dead-letters/{id}/notes. What it says is kept with the dead letter only: the trail has
/// a digest of it, since it may quote a message (R25).
[[nodiscard]] HttpResponse add_note(Office& office, const Request& request);

}  // namespace dlo::api
