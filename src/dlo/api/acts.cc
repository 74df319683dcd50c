#include "dlo/api/acts.h"

#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/lookup.h"
#include "dlo/api/notes.h"
#include "dlo/api/overtaken.h"
#include "dlo/core/acts.h"
#include "dlo/core/encoding.h"
#include "dlo/core/redact.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/batch.h"
#include "dlo/jobs/former.h"
#include "dlo/json/json.h"
#include "dlo/json/writer.h"

namespace dlo::api {
namespace {

constexpr std::size_t longest_text = 16 * 1024;
constexpr std::size_t most_tags = 64;

Error conflict(std::string detail) {
  return {Code::conflict, "api.act", std::move(detail)};
}

/// What the body of an act says.
struct Words {
  std::optional<std::string> by;
  std::string how;
  std::string notes;
  std::string error;  // of an attempt; it may quote the message, so the trail has a digest
};

std::string bounded(JsonFields& fields, std::string_view name) {
  std::string text = fields.text(name);
  if (text.size() > longest_text) fields.complain(name, "is longer than 16384 bytes");
  return text;
}

/// One act on one record, from look-up to answer.
struct Act {
  Office& office;
  const Request& request;
  std::string_view name;
  RecordDetail detail{};
  Transition move{};
  std::vector<Change> also{};
  Words words{};
  std::optional<IdempotencyKey> key{};  // it is to happen once under this

  [[nodiscard]] const DeadLetter& record() const { return detail.record; }
};

void write_tags(JsonWriter& json, std::string_view name, const std::vector<std::string>& tags) {
  json.key(name).begin_array();
  for (const std::string& tag : tags) json.text(tag);
  json.end_array();
}

std::string audit_detail(const Act& act) {
  JsonWriter json;
  json.begin_object();
  json.member("from", name_of(act.record().status)).member("to", name_of(act.move.to));
  if (act.move.resolution) {
    json.member("by", act.move.resolution->by).member("how", act.move.resolution->how);
  }
  if (act.move.tags) {
    write_tags(json, "before", act.record().tags);
    write_tags(json, "after", *act.move.tags);
  }
  if (!act.words.error.empty()) {
    json.key("error").raw(digest_json(act.words.error));
  } else {
    json.member("notes", act.words.notes);
  }
  json.member("version", act.record().version);
  json.end_object();
  return json.take();
}

/// 412 if the client said which version it meant, and that is over.
HttpResponse refusal_of(const Error& error, bool asked_for_version) {
  if (error.code == Code::conflict && asked_for_version) {
    return problem(412, "version_changed", error.detail);
  }
  return problem_of(error);
}

HttpResponse as_it_is(const Act& act) {
  auto now = act.office.get(act.record().id);
  if (!now) return problem_of(now.error());
  const std::uint64_t version = now->record.version;
  HttpResponse response =
      json_answer(to_json(curtain_of(act.request).hidden(std::move(now->record))));
  set_etag(response, version);
  return response;
}

/// An act that was done under this key before is not done again, and is answered with the dead
/// letter as it is; a mistake in the key is answered, too. Nothing: it is to be done now.
std::optional<HttpResponse> told_before(Act& act) {
  auto key = IdempotencyKey::of(act.request);
  if (!key) return problem_of(key.error());
  if (!*key) return std::nullopt;
  const auto before = (*key)->find(act.office);
  if (!before) return problem_of(before.error());
  act.key = std::move(**key);
  if (!*before) return std::nullopt;
  HttpResponse answer = as_it_is(act);
  answer.headers.push_back({"Idempotency-Replayed", "true"});
  return answer;
}

/// Nothing: somebody changed it since it was looked at, and it is to be looked at again.
std::optional<HttpResponse> carry_out(Act& act, Overtaken& overtaken) {
  const auto wanted = act.request.if_match();
  if (!wanted) return problem_of(wanted.error());
  if (*wanted && **wanted != act.record().version) {
    return problem(412, "version_changed",
                   "The dead letter is at version " + std::to_string(act.record().version) +
                       " by now, not " + std::to_string(**wanted) +
                       ". Nothing was changed; look at it again.");
  }
  act.move.id = act.record().id;
  act.move.expected_version = act.record().version;
  act.move.now = act.request.now;
  std::vector<Change> changes;
  changes.emplace_back(act.move);
  for (Change& change : act.also) changes.push_back(std::move(change));
  changes.emplace_back(
      audit_of(act.request, act.name, to_string(act.record().id), audit_detail(act)));
  if (act.key) changes.emplace_back(act.key->keep(HttpResponse{}));
  const auto applied = act.office.apply(changes);
  if (!applied && act.key) {  // somebody may have been quicker with the same key
    if (auto told = told_before(act)) return std::move(*told);
  }
  if (!applied && overtaken.is_reason_to_begin_anew(applied.error())) return std::nullopt;
  if (!applied) return refusal_of(applied.error(), wanted->has_value());
  if (act.key) IdempotencyKey::forget_old(act.office, act.request.now);
  return as_it_is(act);
}

std::string already(const DeadLetter& record) {
  std::string text =
      "Dead letter " + to_string(record.id) + " is " + std::string(name_of(record.status));
  if (record.resolution) {
    text += " already: at " + to_iso8601(record.resolution->at);
    if (!record.resolution->by.empty()) text += " by " + in_quotes(record.resolution->by);
    if (!record.resolution->how.empty()) text += ", " + record.resolution->how;
    text += ". What was said then is kept";
  }
  return text + "; nothing was changed.";
}

using Prepare = std::function<Result<void>(Act&)>;

/// The record to act on. One that is in memory only is there, and nothing can be done with it yet.
Result<RecordDetail> find_for_act(const ActParts& parts, const Request& request) {
  auto detail = find_record(parts.office, request);
  if (detail || detail.error().code != Code::not_found) return detail;
  const auto kept = parts.shelf.find(request.path.front());
  if (kept == nullptr || !allows_source(request.actor.scope, kept->record->message->source)) {
    return detail;
  }
  return conflict("Dead letter " + to_string(kept->record->id) +
                  " is in memory only: the office cannot be written at the moment. Nothing was "
                  "changed; it can be acted upon as soon as it is durable.");
}

/// Looks the record up, lets `prepare` fill the transition, carries it out.
HttpResponse act_with(const ActParts& parts, const Request& request, std::string_view name,
                      const Words& words, const Prepare& prepare) {
  return answer_of_last(request, [&](Overtaken& overtaken) -> std::optional<HttpResponse> {
    Act act{parts.office, request, name};
    act.words = words;
    auto detail = find_for_act(parts, request);
    if (!detail) return problem_of(detail.error());
    act.detail = std::move(*detail);
    if (auto told = told_before(act)) return told;
    if (auto prepared = prepare(act); !prepared) return problem_of(prepared.error());
    return carry_out(act, overtaken);
  });
}

/// Reads the body of an act on a dead letter, and carries it out.
HttpResponse act_on(const ActParts& parts, const Request& request, std::string_view name,
                    bool takes_resolution, const Prepare& prepare) {
  Words words;
  const auto read = read_body(request, [&](JsonFields& fields) {
    if (takes_resolution) {
      if (fields.has("by")) words.by = bounded(fields, "by");
      words.how = bounded(fields, "how");
    }
    words.notes = bounded(fields, "notes");
  });
  if (!read) return problem_of(read.error());
  return act_with(parts, request, name, words, [&prepare](Act& act) -> Result<void> {
    if (!is_live(act.record().status)) return prepare(act);
    return conflict("Message " + to_string(act.record().id) + " is " +
                    std::string(name_of(act.record().status)) +
                    ": it lives and is not a dead letter; nothing was changed.");
  });
}

Result<void> remember(Act& act) {
  auto way = remember_status(act.office, act.record().id, act.record().status);
  if (!way) return way.error();
  act.also.push_back(std::move(*way));
  return {};
}

Result<void> prepare_resolve(Act& act) {
  if (!is_possible(dlo::Act::resolve, act.record().status)) return conflict(already(act.record()));
  act.move.to = Status::resolved;
  act.move.resolution =
      Resolution{act.request.now, act.words.by.value_or(act.request.actor.name),
                 act.words.how.empty() ? "manual" : act.words.how, act.words.notes};
  return remember(act);
}

Result<void> prepare_close(Act& act, dlo::Act how) {
  const Status status = act.record().status;
  if (!is_possible(how, status)) return conflict(already(act.record()));
  act.move.to = target_of(how, status);
  if (how != dlo::Act::discard) return remember(act);
  auto all = remember_discard(act.office, act.record().id, status, act.request.now);
  if (!all) return all.error();
  act.also = std::move(*all);
  return {};
}

Result<void> prepare_restore(Act& act) {
  if (is_open(act.record().status)) {
    return conflict("Dead letter " + to_string(act.record().id) + " is open (" +
                    std::string(name_of(act.record().status)) + "): there is nothing to restore.");
  }
  auto former = former_of(act.office, act.record().id, act.record().status);
  if (!former) return former.error();
  act.move.to = former->status;
  act.also = std::move(former->changes);
  return {};
}

Result<void> prepare_retry(Act& act, const ActParts& parts) {
  const std::string& source = act.record().message->source;
  if (!parts.has_executor(source)) {
    if (!parts.no_retries.empty()) return conflict(parts.no_retries);
    return conflict("Nobody here runs messages of source " + in_quotes(source) +
                    ", so a retry would wait for ever. Send it to a queue instead, or declare a "
                    "queue of that name.");
  }
  const Status status = act.record().status;
  if (status != Status::pending && status != Status::exhausted) {
    return conflict("Dead letter " + to_string(act.record().id) + " is " +
                    std::string(name_of(status)) +
                    "; only pending and exhausted ones can be retried.");
  }
  act.move.to = Status::pending;
  act.move.next_retry_at = act.request.now;
  return {};
}

Result<void> prepare_quarantine(Act& act) {
  const Status status = act.record().status;
  if (!is_possible(dlo::Act::quarantine, status)) {
    return conflict("Dead letter " + to_string(act.record().id) + " is " +
                    std::string(name_of(status)) +
                    "; only pending and exhausted ones can be quarantined.");
  }
  act.move.to = target_of(dlo::Act::quarantine, status);
  return {};
}

Result<void> prepare_attempt(Act& act, const Failure& failure) {
  const DeadLetter& record = act.record();
  if (!is_editable(record.status)) {
    return conflict("Dead letter " + to_string(record.id) + " is " +
                    std::string(name_of(record.status)) +
                    ": nobody is waiting for it to be tried by hand.");
  }
  Attempt attempt;
  attempt.number = record.counters.total + 1;
  attempt.started_at = act.request.now;
  attempt.category = record.category;
  attempt.error_type = failure.type;
  attempt.error_text = failure.text;
  attempt.node = act.request.actor.name;
  act.move.to = record.status;
  act.move.counters = record.counters;
  ++act.move.counters->total;
  act.move.failure = failure;
  act.also.emplace_back(AddAttempt{record.id, std::move(attempt)});
  return {};
}

/// Somebody tried by hand and it failed: it stays open, with the new error (point S1-42).
HttpResponse add_attempt(const ActParts& parts, const Request& request) {
  Failure failure;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("error");
    failure.text = bounded(fields, "error");
    failure.type = bounded(fields, "type");
    if (failure.text.empty()) fields.complain("error", "must say what went wrong");
  });
  if (!read) return problem_of(read.error());
  redact(failure);
  Words words;
  words.error = failure.text;
  return act_with(parts, request, "attempt", words,
                  [&failure](Act& act) { return prepare_attempt(act, failure); });
}

HttpResponse put_tags(const ActParts& parts, const Request& request) {
  std::vector<std::string> tags;
  const auto read = read_body(request, [&](JsonFields& fields) {
    fields.require("tags");
    for (const JsonValue& item : fields.items("tags")) {
      const std::string tag = item.text();
      if (item.kind != JsonKind::string || tag.empty() || tag.size() > 100) {
        fields.complain("tags", "must hold strings of 1 to 100 bytes");
      }
      tags.push_back(tag);
    }
    if (tags.size() > most_tags) fields.complain("tags", "must not hold more than 64");
  });
  if (!read) return problem_of(read.error());
  return act_with(parts, request, "tag", {}, [&tags](Act& act) -> Result<void> {
    act.move.to = act.record().status;
    act.move.tags = tags;
    return {};
  });
}

/// With `wait_ms` the answer comes when the retry is over, or the time is, and says which.
void retry(const ActParts& parts, const Request& request, const ExchangePtr& exchange) {
  const auto wait = request.number("wait_ms", 0, 0, longest_wait_ms);
  if (!wait) return exchange->send(problem_of(wait.error()));
  std::optional<RetryWaits::Waiting> asked;
  HttpResponse answer = act_on(parts, request, "retry", false, [&](Act& act) -> Result<void> {
    const DeadLetter& record = act.record();
    asked.emplace();
    asked->id = record.id;
    asked->asked = {record.counters.failure, record.occurrence};
    return prepare_retry(act, parts);
  });
  if (request.find("wait_ms") == nullptr || !asked || answer.status != 200) {
    return exchange->send(std::move(answer));
  }
  asked->until = request.now + Millis{static_cast<std::int64_t>(*wait)};
  asked->request = request;
  asked->exchange = exchange;
  parts.waits.add(std::move(*asked));
}

Route act_route(const ActParts& parts, std::string_view pattern, std::string_view name,
                bool takes_resolution, Prepare prepare) {
  return {"POST",
          pattern,
          Role::operator_,
          Lane::quick,
          {},
          answering([parts, name, takes_resolution,
                     prepare = std::move(prepare)](const Request& request) {
            return act_on(parts, request, name, takes_resolution, prepare);
          })};
}

}  // namespace

std::vector<Route> act_routes(const ActParts& parts) {
  Office& office = parts.office;
  return {
      act_route(parts, "/v1/dead-letters/{id}/resolve", "resolve", true, prepare_resolve),
      act_route(parts, "/v1/dead-letters/{id}/archive", "archive", false,
                [](Act& act) { return prepare_close(act, dlo::Act::archive); }),
      act_route(parts, "/v1/dead-letters/{id}/discard", "discard", false,
                [](Act& act) { return prepare_close(act, dlo::Act::discard); }),
      act_route(parts, "/v1/dead-letters/{id}/restore", "restore", false, prepare_restore),
      act_route(parts, "/v1/dead-letters/{id}/quarantine", "quarantine", false, prepare_quarantine),
      {"POST",
       "/v1/dead-letters/{id}/retry",
       Role::operator_,
       Lane::quick,
       {"wait_ms"},
       [parts](const Request& request, const ExchangePtr& exchange) {
         retry(parts, request, exchange);
       }},
      {"PUT",
       "/v1/dead-letters/{id}/tags",
       Role::operator_,
       Lane::quick,
       {},
       answering([parts](const Request& request) { return put_tags(parts, request); })},
      {"POST",
       "/v1/dead-letters/{id}/attempts",
       Role::operator_,
       Lane::quick,
       {},
       answering([parts](const Request& request) { return add_attempt(parts, request); })},
      {"POST",
       "/v1/dead-letters/{id}/notes",
       Role::operator_,
       Lane::quick,
       {},
       answering([&office](const Request& request) { return add_note(office, request); })},
  };
}

}  // namespace dlo::api
