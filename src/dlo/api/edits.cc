// Versions of dead letters: made, listed and compared.
#include "dlo/api/edits.h"

#include <algorithm>
#include <utility>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/body.h"
#include "dlo/api/curtain.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/lookup.h"
#include "dlo/api/overtaken.h"
#include "dlo/core/acts.h"
#include "dlo/core/spelling.h"
#include "dlo/jobs/batch.h"
#include "dlo/jobs/drafts.h"
#include "dlo/json/json.h"
#include "dlo/json/read_parts.h"
#include "dlo/json/writer.h"
#include "dlo/repair/schema.h"

namespace dlo::api {
namespace {

constexpr std::size_t longest_reason = 16 * 1024;
constexpr std::size_t most_schemas = 1'000;

void write_version(JsonWriter& json, std::uint32_t number, const Draft& draft) {
  json.member("number", number);
  json.member("headers", std::uint64_t{draft.headers.size()});
  json.member("payload_size", std::uint64_t{draft.payload ? draft.payload->size() : 0});
}

HttpResponse versions(Office& office, const Request& request) {
  const auto detail = find_record(office, request);
  if (!detail) return problem_of(detail.error());
  JsonWriter json;
  json.begin_object().member("id", to_string(detail->record.id)).key("versions").begin_array();
  if (detail->versions.empty()) {
    json.begin_object();
    write_version(json, 0, newest_draft(*detail));
    json.member("at", detail->record.died_at).member("by", "").member("why", "").end_object();
  }
  for (const Version& version : detail->versions) {
    json.begin_object();
    write_version(json, version.number, {version.headers, version.payload});
    json.member("at", version.at).member("by", version.by).member("why", version.why).end_object();
  }
  json.end_array().member("newest", newest_version(*detail)).end_object();
  HttpResponse response = json_answer(json.take());
  set_etag(response, detail->record.version);
  return response;
}

HttpResponse diff(Office& office, const Request& request) {
  const auto detail = find_shown(office, request);
  if (!detail) return problem_of(detail.error());
  const std::uint32_t newest = newest_version(*detail);
  const auto from = request.number("from", 0, 0, newest);
  if (!from) return problem_of(from.error());
  const auto to = request.number("to", newest, 0, newest);
  if (!to) return problem_of(to.error());
  const auto before = draft_at(*detail, static_cast<std::uint32_t>(*from));
  const auto after = draft_at(*detail, static_cast<std::uint32_t>(*to));
  if (!before || !after) return problem(404, "not_found", "There is no such version.");
  JsonWriter json;
  json.begin_object().member("id", to_string(detail->record.id));
  json.member("from", *from).member("to", *to).key("diff");
  write_json(json, difference_of(*before, *after));
  json.end_object();
  return json_answer(json.take());
}

/// What the body of an edit asks for.
struct Wanted {
  std::optional<Headers> headers;
  std::optional<std::string> payload;
  bool null_payload = false;
  std::optional<Recipe> recipe;
  std::string reason;
  bool dry_run = false;
};

void read_wanted(JsonFields& fields, Wanted& wanted) {
  if (fields.has("headers")) wanted.headers = read_headers(fields);
  wanted.payload = fields.bytes("payload");
  if (const JsonValue* json = fields.find("json")) {
    if (wanted.payload) fields.complain("json", "stands beside `payload`: use one of them");
    wanted.payload = std::string(json->raw);
  }
  if (const JsonValue* steps = fields.find("recipe")) {
    auto recipe = read_recipe(*steps);
    if (!recipe) {
      fields.complain("recipe", recipe.error().detail);
    } else {
      wanted.recipe = std::move(*recipe);
    }
  }
  if (!wanted.headers && !wanted.payload && !wanted.recipe) {
    fields.complain("payload", "or `json`, `headers` or `recipe` must say what changes");
  }
  wanted.dry_run = fields.boolean("dry_run");
  wanted.reason = fields.text("reason");
  if (wanted.reason.size() > longest_reason)
    fields.complain("reason", "is longer than 16384 bytes");
  if (wanted.reason.empty() && !wanted.dry_run) {
    fields.complain("reason", "must say why: it stays with the version for ever");
  }
}

Result<Draft> wanted_draft(const RecordDetail& detail, Wanted& wanted) {
  Draft draft = newest_draft(detail);
  if (wanted.headers) draft.headers = std::move(*wanted.headers);
  if (wanted.payload) draft.payload = std::move(*wanted.payload);
  if (!wanted.recipe) return draft;
  return apply_recipe(*wanted.recipe, std::move(draft));
}

std::string described(const Request& request, const RecordDetail& detail, const Repair& repair,
                      std::uint32_t number, bool made) {
  JsonWriter json;
  json.begin_object().member("id", to_string(detail.record.id));
  json.member("number", number).key("made").boolean(made);
  json.key("warnings").begin_array();
  for (const std::string& each : repair.warnings) json.text(each);
  json.end_array().key("complaints").begin_array();
  for (const SchemaComplaint& each : repair.complaints) json.text(each.text);
  json.end_array().key("diff");
  write_json(json, curtain_of(request).difference(newest_draft(detail), repair.after));
  json.end_object();
  return json.take();
}

/// Nothing: somebody changed it since it was looked at, and it is to be looked at again.
std::optional<HttpResponse> make_version(Office& office, const Request& request,
                                         const RecordDetail& detail, const Repair& repair,
                                         const std::string& reason,
                                         const std::optional<IdempotencyKey>& key,
                                         Overtaken& overtaken) {
  const std::uint32_t number = newest_version(detail) + 1;
  const DeadLetter& record = detail.record;
  std::vector<Change> changes{version_of(record, repair, request.now, request.actor.name, reason),
                              audit_of(request, "edit", to_string(record.id),
                                       audit_text(repair, newest_draft(detail), number, reason))};
  HttpResponse response = json_answer(described(request, detail, repair, number, true), 201);
  if (key) changes.emplace_back(key->keep(response));
  const auto applied = office.apply(changes);
  if (!applied && key) {  // somebody may have been quicker with the same key
    auto before = key->find(office);
    if (before && *before) return std::move(**before);
  }
  if (!applied && overtaken.is_reason_to_begin_anew(applied.error())) return std::nullopt;
  if (!applied && applied.error().code == Code::conflict) {
    return problem(412, "version_changed", applied.error().detail);
  }
  if (!applied) return problem_of(applied.error());
  if (key) IdempotencyKey::forget_old(office, request.now);
  set_etag(response, applied->front().version);
  return response;
}

std::optional<HttpResponse> edit_once(Office& office, const Request& request, Wanted wanted,
                                      Overtaken& overtaken) {
  const auto detail = find_record(office, request);
  if (!detail) return problem_of(detail.error());
  const DeadLetter& record = detail->record;
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  if (*key) {
    auto before = (*key)->find(office);
    if (!before) return problem_of(before.error());
    if (*before) return std::move(*before);
  }
  const auto version = request.if_match();
  if (!version) return problem_of(version.error());
  if (*version && **version != record.version) {
    return problem(412, "version_changed",
                   "The dead letter is at version " + std::to_string(record.version) +
                       " by now, not " + std::to_string(**version) +
                       ". Nothing was changed; look at it again.");
  }
  if (!is_editable(record.status)) {
    return problem(409, "conflict",
                   "Dead letter " + to_string(record.id) + " is " +
                       std::string(name_of(record.status)) +
                       ": only pending, exhausted and quarantined ones can be edited.");
  }
  if (wanted.recipe) {
    const auto fine = curtain_of(request).check(*wanted.recipe, request);
    if (!fine) return problem_of(fine.error());
  }
  auto draft = wanted_draft(*detail, wanted);
  if (!draft) return problem_of(draft.error());
  if (auto fine = curtain_of(request).check(*draft); !fine) return problem_of(fine.error());
  auto repair = check_edit(office, *detail, std::move(*draft));
  if (!repair) return problem_of(repair.error());
  curtain_of(request).hide(repair->complaints, request);
  if (wanted.dry_run || !repair->changes()) {
    return json_answer(described(request, *detail, *repair, newest_version(*detail), false));
  }
  if (auto fits = check_schema(*repair); !fits) return problem_of(fits.error());
  return make_version(office, request, *detail, *repair, wanted.reason, *key, overtaken);
}

HttpResponse edit(Office& office, const Request& request) {
  Wanted wanted;
  const auto read = read_body(request, [&](JsonFields& fields) { read_wanted(fields, wanted); });
  if (!read) return problem_of(read.error());
  return answer_of_last(
      request, [&](Overtaken& overtaken) { return edit_once(office, request, wanted, overtaken); });
}

HttpResponse schemas(Office& office) {
  const auto all = office.extras().ledger->documents(schema_kind, "", most_schemas);
  if (!all) return problem_of(all.error());
  JsonWriter json;
  json.begin_object().key("schemas").begin_array();
  for (const Document& each : *all) {
    json.begin_object().member("source", each.key).key("schema").raw(each.body).end_object();
  }
  json.end_array().end_object();
  return json_answer(json.take());
}

HttpResponse schema(Office& office, const Request& request) {
  const auto found = office.extras().ledger->document(schema_kind, request.path.front());
  if (!found) return problem_of(found.error());
  if (!*found) return problem(404, "not_found", "This source has no schema.");
  HttpResponse response = json_answer((*found)->body);
  set_etag(response, (*found)->version);
  return response;
}

/// `body` nothing: removes it.
HttpResponse put_schema(Office& office, const Request& request, std::optional<std::string> body) {
  const std::string& source = request.path.front();
  const std::string act = body ? "schema" : "schema.remove";
  const auto expected = request.if_match();
  if (!expected) return problem_of(expected.error());
  const auto before = office.extras().ledger->document(schema_kind, source);
  if (!before) return problem_of(before.error());
  JsonWriter said;
  said.begin_object();
  if (*before) said.key("before").raw(digest_json((*before)->body));
  if (body) said.key("after").raw(digest_json(*body));
  said.end_object();
  const std::vector<Change> changes{PutDocument{schema_kind, source, std::move(body), *expected},
                                    audit_of(request, act, source, said.take())};
  const auto applied = office.apply(changes);
  if (!applied && applied.error().code == Code::conflict) {
    return problem(412, "version_changed", applied.error().detail);
  }
  if (!applied) return problem_of(applied.error());
  if (act == "schema") return schema(office, request);
  return json_answer(R"({"removed":true})");
}

HttpResponse attach_schema(Office& office, const Request& request) {
  if (media_type(request) != "application/json" &&
      media_type(request) != "application/schema+json") {
    return problem(415, "unsupported_media_type", "A schema is application/json.");
  }
  const auto schema = JsonSchema::parse(request.http.body);
  if (!schema) return problem_of(schema.error());
  if (auto fine = curtain_of(request).check(*schema, request); !fine) {
    return problem_of(fine.error());
  }
  return put_schema(office, request, request.http.body);
}

}  // namespace

std::vector<Route> edit_routes(Office& office) {
  const auto row = [](std::string_view method, std::string_view pattern, Role role, Lane lane,
                      std::vector<std::string_view> query,
                      std::function<HttpResponse(const Request&)> run) {
    return Route{method, pattern, role, lane, std::move(query), answering(std::move(run))};
  };
  return {
      row("GET", "/v1/dead-letters/{id}/versions", Role::reader, Lane::quick, {},
          [&office](const Request& r) { return versions(office, r); }),
      row("GET", "/v1/dead-letters/{id}/diff", Role::reader, Lane::slow, {"from", "to"},
          [&office](const Request& r) { return diff(office, r); }),
      row("POST", "/v1/dead-letters/{id}/edit", Role::operator_, Lane::quick, {},
          [&office](const Request& r) { return edit(office, r); }),
      row("GET", "/v1/schemas", Role::reader, Lane::quick, {},
          [&office](const Request&) { return schemas(office); }),
      row("GET", "/v1/schemas/{source}", Role::reader, Lane::quick, {},
          [&office](const Request& r) { return schema(office, r); }),
      row("PUT", "/v1/schemas/{source}", Role::operator_, Lane::quick, {},
          [&office](const Request& r) { return attach_schema(office, r); }),
      row("DELETE", "/v1/schemas/{source}", Role::operator_, Lane::quick, {},
          [&office](const Request& r) { return put_schema(office, r, std::nullopt); }),
  };
}

}  // namespace dlo::api
