#include "dlo/outbox/notes.h"

#include <algorithm>

#include "dlo/core/encoding.h"
#include "dlo/json/text/value.h"
#include "dlo/json/writer.h"

namespace dlo::outbox {
namespace {

constexpr std::size_t page = 500;

std::string print(const std::string& key, const Failures& failures) {
  JsonWriter json;
  json.begin_object().member("attempts", std::uint64_t{failures.attempts});
  if (!key.empty()) json.member("key", to_base64(key));
  if (failures.due) json.member("due", *failures.due);
  if (failures.first_attempt_at) json.member("first", *failures.first_attempt_at);
  json.member("error", to_base64(failures.last_error));
  json.member("trail", to_base64(failures.trail)).end_object();
  return json.take();
}

std::string bytes_in(const JsonValue& value, std::string_view name) {
  const JsonValue* found = value.find(name);
  return found == nullptr ? "" : from_base64(found->text()).value_or("");
}

std::optional<TimePoint> time_in(const JsonValue& value, std::string_view name) {
  const JsonValue* found = value.find(name);
  return found == nullptr ? std::nullopt : parse_iso8601(found->text());
}

Notes::Note parse(const Document& document) {
  Notes::Note note;
  note.id = document.key;
  const auto value = parse_json(document.body);
  if (!value) return note;
  note.key = bytes_in(*value, "key");
  if (const JsonValue* attempts = value->find("attempts")) {
    note.failures.attempts = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(attempts->to_uint64().value_or(0), INT32_MAX));
  }
  note.failures.due = time_in(*value, "due");
  note.failures.first_attempt_at = time_in(*value, "first");
  note.failures.last_error = bytes_in(*value, "error");
  note.failures.trail = bytes_in(*value, "trail");
  return note;
}

}  // namespace

Change Notes::written(const std::string& id, const std::string& key,
                      const Failures& failures) const {
  return PutDocument{kind_, id, print(key, failures), std::nullopt};
}

Change Notes::removed(const std::string& id) const {
  return PutDocument{kind_, id, std::nullopt, std::nullopt};
}

Result<std::vector<Notes::Note>> Notes::all() const {
  std::vector<Note> notes;
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return notes;
  std::string after;
  while (true) {
    const auto documents = ledger->documents(kind_, after, page);
    if (!documents) return documents.error();
    for (const Document& each : *documents) notes.push_back(parse(each));
    if (documents->size() < page) return notes;
    after = documents->back().key;
  }
}

}  // namespace dlo::outbox
