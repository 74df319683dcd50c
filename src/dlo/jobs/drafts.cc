#include "dlo/jobs/drafts.h"

#include <algorithm>
#include <utility>

#include "dlo/core/sha256.h"
#include "dlo/json/writer.h"

namespace dlo {
namespace {

std::string sha256_of(const std::optional<std::string>& payload) {
  if (!payload) return "";
  Sha256 hash;
  hash.update(*payload);
  return to_hex(hash.finish());
}

}  // namespace

std::uint32_t newest_version(const RecordDetail& detail) noexcept {
  return detail.versions.empty() ? 0 : detail.versions.back().number;
}

std::optional<Draft> draft_at(const RecordDetail& detail, std::uint32_t version) {
  const auto found = std::find_if(detail.versions.begin(), detail.versions.end(),
                                  [&](const Version& each) { return each.number == version; });
  if (found != detail.versions.end()) return Draft{found->headers, found->payload};
  if (version != 0 || !detail.versions.empty()) return std::nullopt;
  return Draft{detail.record.message->headers, detail.record.message->payload};
}

Draft newest_draft(const RecordDetail& detail) {
  return draft_at(detail, newest_version(detail)).value_or(Draft{});
}

Result<Repair> check_edit(Office& office, const RecordDetail& detail, Draft after) {
  Repair repair;
  repair.difference = difference_of(newest_draft(detail), after);
  repair.after = std::move(after);
  if (auto fine = check_locked(repair.difference); !fine) return fine.error();
  repair.warnings = warnings_of(repair.difference);
  if (!repair.difference.payload_differs) return repair;
  auto complaints = schema_complaints(office, detail.record.message->source, repair.after.payload);
  if (!complaints) return complaints.error();
  repair.complaints = std::move(*complaints);
  return repair;
}

Result<Repair> check_recipe(Office& office, const RecordDetail& detail, const Recipe& recipe) {
  auto after = apply_recipe(recipe, newest_draft(detail));
  if (!after) return after.error();
  return check_edit(office, detail, std::move(*after));
}

Result<void> check_schema(const Repair& repair) {
  if (repair.complaints.empty()) return {};
  std::string all;
  for (const SchemaComplaint& each : repair.complaints) {
    all += (all.empty() ? "" : "; ") + each.text;
  }
  return Error{Code::invalid_argument, "repair.schema",
               "It does not fit the schema of its source: " + all + ". Nothing was changed."};
}

AddVersion version_of(const DeadLetter& record, const Repair& repair, TimePoint at, std::string by,
                      std::string why) {
  return {record.id, record.version, repair.after.headers, repair.after.payload,
          at,        std::move(by),  std::move(why)};
}

std::string audit_text(const Repair& repair, const Draft& before, std::uint32_t version,
                       const std::string& why) {
  JsonWriter json;
  json.begin_object().member("version", version).member("reason", std::string_view(why));
  json.key("headers").begin_array();
  for (const HeaderChange& change : repair.difference.headers) json.text(change.name);
  json.end_array().key("paths").begin_array();
  for (const PathChange& change : repair.difference.paths) json.text(change.path);
  json.end_array();
  if (repair.difference.payload_differs) {
    json.member("before_sha256", std::string_view(sha256_of(before.payload)));
    json.member("after_sha256", std::string_view(sha256_of(repair.after.payload)));
  }
  json.end_object();
  return json.take();
}

Result<std::vector<SchemaComplaint>> schema_complaints(Office& office, const std::string& source,
                                                       const std::optional<std::string>& payload) {
  std::vector<SchemaComplaint> none;
  Ledger* ledger = office.extras().ledger;
  if (ledger == nullptr || source.empty()) return none;
  const auto kept = ledger->document(schema_kind, source);
  if (!kept) return kept.error();
  if (!*kept) return none;
  const auto schema = JsonSchema::parse((*kept)->body);
  if (!schema) return schema.error();
  return schema->check(payload.value_or(""));
}

}  // namespace dlo
