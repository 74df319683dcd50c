#include "dlo/api/imports.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/notes.h"
#include "dlo/core/states.h"
#include "dlo/jobs/former.h"
#include "dlo/json/json.h"
#include "dlo/json/text/mask.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t most_lines = 1'000;
constexpr const char* where = "api.import";

/// A line of an export: the record, and the notes beside it.
struct Brought {
  RecordDetail detail;
  std::vector<Note> notes;
};

Error is_masked() {
  return {Code::refused, where,
          "Values of it are masked: here " + std::string(mask_text) +
              " would be kept instead of the true ones. Nothing was kept; export it with "
              "--reveal"};
}

Result<Brought> read_line(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return value.error();
  Brought brought;
  JsonWriter record;  // as it stands, without the notes
  record.begin_object();
  for (const JsonMember& each : value->members) {
    if (each.name == "masked") {
      if (each.value.raw == "false") continue;
      return is_masked();
    }
    if (each.name == "holds_key") continue;  // of a queue that is elsewhere
    if (each.name != "notes") {
      record.key(each.name).raw(each.value.raw);
      continue;
    }
    for (const JsonValue& note : each.value.items) {
      JsonComplaints complaints(where);
      JsonFields fields(note, "notes", complaints);
      brought.notes.push_back(
          {fields.time("at").value_or(TimePoint{}), fields.text("by"), fields.text("text")});
    }
  }
  record.end_object();
  auto detail = parse_record_detail(record.take());
  if (!detail) return detail.error();
  brought.detail = std::move(*detail);
  return brought;
}

/// A mask that stands where this office masks was copied from what somebody was shown.
Result<void> check_masks(const Curtain& curtain, const RecordDetail& detail) {
  const Message& message = *detail.record.message;
  bool fine = static_cast<bool>(curtain.check(Draft{message.headers, message.payload}));
  for (const Version& each : detail.versions) {
    fine = fine && curtain.check(Draft{each.headers, each.payload});
  }
  if (!fine) return is_masked();
  return {};
}

/// Whoever held it held it in the other office.
Status status_here(Status status) {
  // Nobody here works on it or waits for what becomes of it.
  const bool under_way =
      status == Status::retrying || status == Status::replaying || status == Status::replayed;
  return under_way ? Status::pending : status;
}

std::string imported_text(const Brought& brought) {
  const DeadLetter& record = brought.detail.record;
  JsonWriter json;
  json.begin_object().member("source", record.message->source);
  json.member("occurrence", std::uint64_t{record.occurrence});
  json.member("was", name_of(record.status)).member("to", name_of(status_here(record.status)));
  json.member("versions", std::uint64_t{brought.detail.versions.size()});
  json.member("notes", std::uint64_t{brought.notes.size()}).end_object();
  return json.take();
}

std::vector<Change> changes_for(const Brought& brought, const Request& request) {
  auto record = std::make_shared<DeadLetter>(brought.detail.record);
  record->status = status_here(record->status);
  const RecordId id = record->id;
  std::vector<Change> changes{Append{record, brought.detail.attempts}};
  std::uint64_t version = 1;
  for (const Version& each : brought.detail.versions) {
    if (each.number == 0) continue;  // the message itself
    changes.emplace_back(
        AddVersion{id, version++, each.headers, each.payload, each.at, each.by, each.why});
  }
  thread_local std::mt19937_64 salt(std::random_device{}());
  for (const Note& note : brought.notes) changes.emplace_back(keep_note(id, note, salt()));
  changes.emplace_back(audit_of(request, "import", to_string(id), imported_text(brought)));
  return changes;
}

/// "kept", or "merged" if that occurrence is here already.
Result<std::string> keep(Office& office, const Brought& brought, const Request& request) {
  if (auto fine = check_masks(curtain_of(request), brought.detail); !fine) return fine.error();
  const auto before = office.get(brought.detail.record.id);
  if (!before && before.error().code != Code::not_found) return before.error();
  if (before && before->record.occurrence >= brought.detail.record.occurrence)
    return std::string("merged");
  std::vector<Change> changes = changes_for(brought, request);
  if (brought.detail.record.status == Status::discarding) {  // its grace begins anew, here
    auto noted = note_discard(office, brought.detail.record.id, request.now);
    if (!noted) return noted.error();
    for (Change& each : *noted) changes.push_back(std::move(each));
  }
  const auto applied = office.apply(changes);
  if (!applied) return applied.error();
  return std::string("kept");
}

HttpResponse import_all(Office& office, const Request& request) {
  if (media_type(request) != "application/x-ndjson") {
    return problem(415, "unsupported_media_type",
                   "An import is application/x-ndjson: one dead letter a line.");
  }
  const auto lines = lines_of(request.http.body);
  if (lines.size() > most_lines) {
    return problem(400, "invalid_argument",
                   "An import has at most 1000 lines; send the rest in another request.");
  }
  HttpResponse answer;
  answer.content_type = "application/x-ndjson";
  for (const Line& line : lines) {
    JsonWriter json;
    json.begin_object().member("line", line.number);
    const auto brought = read_line(line.text);
    const auto kept =
        brought ? keep(office, *brought, request) : Result<std::string>(brought.error());
    if (kept) {
      json.member("id", to_string(brought->detail.record.id)).member("effect", *kept);
    } else {
      answer.status = 207;
      json.member("code", name_of(kept.error().code)).member("detail", kept.error().detail);
    }
    json.end_object();
    answer.body += json.take() + "\n";
  }
  return answer;
}

}  // namespace

std::vector<Route> import_routes(Office& office) {
  return {{"POST",
           "/v1/import",
           Role::admin,
           Lane::slow,
           {},
           answering([&office](const Request& request) { return import_all(office, request); })}};
}

}  // namespace dlo::api
