#include "dlo/api/group_split.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "dlo/api/answers.h"
#include "dlo/api/audit_text.h"
#include "dlo/api/idempotency.h"
#include "dlo/core/encoding.h"
#include "dlo/core/sha256.h"
#include "dlo/core/spelling.h"
#include "dlo/json/writer.h"
#include "dlo/query/quoting.h"

namespace dlo::api {
namespace {

constexpr std::array<std::string_view, 7> facet_names = {"source", "type", "handler", "node",
                                                         "build",  "key",  "hour"};
constexpr Millis hour{3'600'000};

Result<std::string> term_of(const FacetWanted& wanted) {
  if (std::find(facet_names.begin(), facet_names.end(), wanted.facet) == facet_names.end()) {
    return Error{Code::invalid_argument, "api.split",
                 unknown_name("facet", wanted.facet, facet_names)};
  }
  if (wanted.facet != "hour") return wanted.facet + ":" + query::quoted_if_needed(wanted.value);
  const auto from = parse_iso8601(wanted.value);
  if (!from) {
    return Error{
        Code::invalid_argument, "api.split",
        "value must be the beginning of an hour as facets name it, not " + in_quotes(wanted.value)};
  }
  return "died:>=" + query::quoted_if_needed(to_iso8601(*from)) + " died:<" +
         query::quoted_if_needed(to_iso8601(*from + hour));
}

Id128 split_id(const GroupSummary& group, const FacetWanted& wanted) {
  Sha256 hash;
  hash.update("split " + to_string(group.fingerprint) + " " + wanted.facet + " ");
  hash.update(wanted.value);
  return parse_id(to_hex(hash.finish()).substr(0, 32)).value_or(Id128{});
}

std::string answer_text(const Job& job, const JobPreview& preview) {
  JsonWriter json;
  json.begin_object().member("group", to_string(job.spec.into.value_or(Id128{})));
  json.key("job").raw(to_json(job)).key("preview").begin_object();
  json.member("count", preview.count).key("at_least").boolean(preview.at_least);
  json.end_object().end_object();
  return json.take();
}

/// The job, its start, the entry in the trail and the key are one write.
HttpResponse begin(const JobParts& parts, const Request& request, Job job,
                   const FacetWanted& wanted, const GroupSummary& group,
                   const JobPreview& preview) {
  const auto key = IdempotencyKey::of(request);
  if (!key) return problem_of(key.error());
  JsonWriter said;
  said.begin_object().member("facet", wanted.facet).member("value", wanted.value);
  said.member("into", to_string(*job.spec.into)).member("job", job.id).end_object();
  std::vector<Change> also{audit_of(request, "split", to_string(group.fingerprint), said.take())};
  if (*key) {
    also.emplace_back((*key)->keep(json_answer(answer_text(begun(job), preview), 202)));
  }
  const auto kept = parts.book.keep(std::move(job), true, std::move(also));
  if (!kept && *key) {  // somebody may have been quicker with the same key
    auto before = (*key)->find(parts.office);
    if (before && *before) return std::move(**before);
  }
  if (!kept) return problem_of(kept.error());
  if (*key) IdempotencyKey::forget_old(parts.office, request.now);
  parts.wake();
  return json_answer(answer_text(*kept, preview), 202);
}

}  // namespace

HttpResponse split_by_facet(const JobParts& parts, const Request& request,
                            const GroupSummary& group, const FacetWanted& wanted) {
  const auto term = term_of(wanted);
  if (!term) return problem_of(term.error());
  JobSpec spec;
  spec.act = dlo::Act::regroup;
  spec.query = "group:" + to_string(group.fingerprint) + " " + *term;
  spec.into = split_id(group, wanted);
  spec.into_title = group.title + " (" + wanted.facet + " " + wanted.value + ")";
  thread_local std::mt19937 random(std::random_device{}());
  const std::string id =
      wanted.dry_run ? "" : job_id(request.now, static_cast<std::uint32_t>(random()));
  auto drawn = parts.book.draw_up(spec, id, request.actor.name, request.now);
  if (!drawn) return problem_of(drawn.error());
  const auto preview = parts.book.preview(*drawn);
  if (!preview) return problem_of(preview.error());
  if (preview->count == 0) {
    return problem(404, "not_found",
                   "No dead letter of group " + to_string(group.fingerprint) + " has the " +
                       wanted.facet + " " + in_quotes(wanted.value) +
                       ". Its facets name those that there are.");
  }
  if (wanted.dry_run) return json_answer(answer_text(*drawn, *preview));
  return begin(parts, request, std::move(*drawn), wanted, group, *preview);
}

}  // namespace dlo::api
