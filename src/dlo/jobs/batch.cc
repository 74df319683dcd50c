#include "dlo/jobs/batch.h"

#include "dlo/core/sha256.h"
#include "dlo/json/writer.h"

namespace dlo {

bool is_overtaken(const Error& error) noexcept {
  return error.code == Code::conflict || error.code == Code::not_found ||
         error.code == Code::lease_lost;
}

bool will_pass(const Error& error) noexcept {
  return error.code == Code::unavailable || error.code == Code::timed_out ||
         error.code == Code::full || error.code == Code::disk_full;
}

std::string digest_json(std::string_view text) {
  JsonWriter json;
  json.begin_object()
      .member("sha256", to_hex(sha256(text)))
      .member("bytes", std::uint64_t{text.size()})
      .end_object();
  return json.take();
}

std::string why_of(const Job& job) {
  std::string why = "job " + job.id;
  if (!job.spec.recipe_name.empty()) why += ", recipe " + job.spec.recipe_name;
  if (!job.spec.notes.empty()) why += ": " + job.spec.notes;
  return why;
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(name).begin_array();
  for (const std::string& text : texts) json.text(text);
  json.end_array();
}

AddAudit audit_of(const Job& job, std::span<const RecordId> acted_on, const Moves& moves,
                  TimePoint now) {
  Sha256 ids;
  for (const RecordId& id : acted_on) ids.update(to_string(id));
  JsonWriter detail;
  detail.begin_object().member("count", std::uint64_t{acted_on.size()});
  if (job.spec.replay) detail.member("target", job.spec.replay->target);
  detail.key("moves").begin_array();
  for (const auto& [move, count] : moves) {
    detail.begin_object().member("from", name_of(move.first)).member("to", name_of(move.second));
    detail.member("count", count).end_object();
  }
  detail.end_array();
  write_texts(detail, "tags", job.spec.tags);
  write_texts(detail, "remove_tags", job.spec.remove_tags);
  if (!job.spec.recipe.empty()) detail.key("recipe").raw(digest_json(job.spec.recipe));
  if (job.spec.into) detail.member("into", to_string(*job.spec.into));
  detail.member("ids_sha256", to_hex(ids.finish())).member("notes", job.spec.notes).end_object();
  return {now, job.created_by, std::string(act_of(job.spec)), "job " + job.id, detail.take()};
}

}  // namespace dlo
