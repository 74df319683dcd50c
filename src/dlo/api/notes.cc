#include "dlo/api/notes.h"

#include "dlo/core/encoding.h"
#include "dlo/json/fields.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_notes = 1'000;

std::string kind_of(const RecordId& id) {
  return "note/" + to_string(id);
}

void write_json(JsonWriter& json, const Note& note) {
  json.begin_object()
      .member("at", note.at)
      .member("by", note.by)
      .member("text", note.text)
      .end_object();
}

}  // namespace

PutDocument keep_note(const RecordId& id, const Note& note, std::uint64_t salt) {
  JsonWriter json;
  write_json(json, note);
  // Keys are listed in byte order, and these are in order of time.
  return {kind_of(id), to_iso8601(note.at) + "/" + to_string(Id128{0, salt}).substr(16),
          json.take(), std::nullopt};
}

Result<std::vector<Note>> notes_of(Office& office, const RecordId& id) {
  std::vector<Note> notes;
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr) return notes;
  const auto documents = ledger->documents(kind_of(id), "", most_notes);
  if (!documents) return documents.error();
  for (const Document& document : *documents) {
    const auto value = parse_json(document.body);
    if (!value) continue;
    JsonComplaints complaints;
    JsonFields fields(*value, "", complaints);
    notes.push_back(
        {fields.time("at").value_or(TimePoint{}), fields.text("by"), fields.text("text")});
  }
  return notes;
}

void write_json(JsonWriter& json, const std::vector<Note>& notes) {
  json.begin_array();
  for (const Note& note : notes) write_json(json, note);
  json.end_array();
}

}  // namespace dlo::api
