#include "dlo/api/notes.h"

#include <optional>
#include <random>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/lookup.h"
#include "dlo/core/encoding.h"
#include "dlo/jobs/batch.h"
#include "dlo/json/fields.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_notes = 1'000;
constexpr std::size_t longest_text = 16 * 1024;

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

std::string bounded(JsonFields& fields, std::string_view name) {
  std::string text = fields.text(name);
  if (text.size() > longest_text) fields.complain(name, "is longer than 16384 bytes");
  return text;
}

HttpResponse notes_answer(Office& office, const RecordId& id, int status) {
  const auto notes = notes_of(office, id);
  if (!notes) return problem_of(notes.error());
  JsonWriter json;
  json.begin_object().key("notes");
  write_json(json, *notes);
  json.end_object();
  return json_answer(json.take(), status);
}

/// Of a note only that it was written under this key is kept; nothing: it is to be written now.
std::optional<HttpResponse> told_before(Office& office, const std::optional<IdempotencyKey>& key,
                                        const RecordId& id) {
  if (!key) return std::nullopt;
  const auto before = key->find(office);
  if (!before) return problem_of(before.error());
  if (!*before) return std::nullopt;
  HttpResponse answer = notes_answer(office, id, 200);
  answer.headers.push_back({"Idempotency-Replayed", "true"});
  return answer;
}

std::string audit_text(const Note& note) {
  JsonWriter said;
  said.begin_object().member("by", note.by).key("text").raw(digest_json(note.text)).end_object();
  return said.take();
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

HttpResponse add_note(Office& office, const Request& request) {
  Note note;
  note.at = request.now;
  note.by = request.actor.name;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("text");
    if (fields.has("by")) note.by = bounded(fields, "by");
    note.text = bounded(fields, "text");
    if (note.text.empty()) fields.complain("text", "must not be empty");
  });
  if (!read) return problem_of(read.error());
  const auto detail = find_record(office, request);
  if (!detail) return problem_of(detail.error());
  const RecordId id = detail->record.id;
  thread_local std::mt19937_64 salt(std::random_device{}());
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (auto told = told_before(office, *key, id)) return std::move(*told);
  std::vector<Change> changes{keep_note(id, note, salt()),
                              audit_of(request, "note", to_string(id), audit_text(note))};
  if (*key) changes.emplace_back((*key)->keep(HttpResponse{}));
  if (const auto applied = office.apply(changes); !applied) {
    // Somebody may have been quicker with the same key.
    if (auto told = told_before(office, *key, id)) return std::move(*told);
    return problem_of(applied.error());
  }
  if (*key) IdempotencyKey::forget_old(office, request.now);
  return notes_answer(office, id, 201);
}

}  // namespace dlo::api
