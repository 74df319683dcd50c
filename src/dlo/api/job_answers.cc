#include "dlo/api/job_answers.h"

#include "dlo/api/answers.h"
#include "dlo/api/curtain.h"
#include "dlo/json/json.h"
#include "dlo/json/parts.h"

namespace dlo::api {
namespace {

/// How many wait for others of their key.
void write_keys(JsonWriter& json, const JobPreview& preview) {
  json.key("keys").begin_object().member("count", preview.keys);
  json.member("followers", preview.followers).key("longest").begin_array();
  for (const auto& [key, followers] : preview.longest) {
    json.begin_object().member("key", key).member("followers", followers).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

void write_progress(JsonWriter& json, const Job& job, const JobProgress& progress) {
  const JobCounts& counts = progress.counts;
  json.key("progress").begin_object();
  json.member("ok", counts.ok).member("changed", counts.changed);
  json.member("refused", counts.refused).member("total", counts.total());
  json.member("planned", progress.planned).key("freezing").boolean(progress.freezing);
  if (job.spec.replay) {
    json.member("looped", counts.looped).member("verified", counts.verified);
    json.member("presumed", counts.presumed).member("returned", counts.returned);
    json.member("behind", counts.behind).member("taken_over", counts.taken_over);
    write_returned(json, progress);
    write_unreachable(json, progress);
    if (!progress.blocked.empty()) {
      json.member("blocked", progress.blocked).member("taken", progress.sending.size());
    }
  }
  json.end_object();
}

void write_preview(JsonWriter& json, const Job& job, const JobPreview& preview,
                   const ReplayTargets& targets) {
  json.key("preview").begin_object().member("count", preview.count);
  json.key("at_least").boolean(preview.at_least);
  if (preview.takes) {
    json.member("takes_ms", static_cast<std::uint64_t>(preview.takes->count()));
  }
  json.key("reasons").begin_array();
  for (const auto& [reason, count] : preview.reasons) {
    json.begin_object().member("reason", reason).member("count", count).end_object();
  }
  json.end_array();
  if (!preview.targets.empty()) {
    json.key("targets").begin_array();
    for (const auto& [direction, count] : preview.targets) {
      json.begin_object().member("target", direction.target).member("count", count);
      if (direction.rule) {
        json.member("rule", std::uint64_t{*direction.rule + 1});
        json.member("redirect", print(job.spec.replay->redirects[*direction.rule]));
      }
      if (const auto there = targets.check(direction.target); !there) {
        json.member("problem", there.error().detail);
      }
      json.end_object();
    }
    json.end_array();
  }
  if (!preview.strip.empty()) {
    json.key("strip").begin_array();
    for (const auto& [name, count] : preview.strip) {
      json.begin_object().member("name", name).member("in_sample", count).end_object();
    }
    json.end_array();
  }
  if (!preview.set_headers.empty()) {
    json.key("set_headers").begin_array();
    for (const std::string& name : preview.set_headers) json.text(name);
    json.end_array();
  }
  if (preview.keys > 0) write_keys(json, preview);
  json.key("sample").begin_array();
  for (const RecordHead& head : preview.sample) json.raw(to_json(head));
  json.end_array().end_object();
}

HttpResponse answer_of(const JobParts& parts, const Request& request, const Job& job,
                       const JobProgress& progress, const JobPreview* preview, int status) {
  JsonWriter json;
  json.begin_object().key("job");
  json.raw(to_json(curtain_of(request).hidden(job, request.actor)));
  write_progress(json, job, progress);
  if (preview != nullptr) write_preview(json, job, *preview, parts.targets);
  json.end_object();
  HttpResponse answer = json_answer(json.take(), status);
  set_etag(answer, job.version);
  return answer;
}

HttpResponse answer_with(const JobParts& parts, const Request& request, const Job& job,
                         bool with_preview) {
  const auto progress = parts.book.progress(job.id);
  if (!progress) return problem_of(progress.error());
  if (!with_preview) return answer_of(parts, request, job, *progress, nullptr);
  const auto preview = parts.book.preview(job);
  return preview ? answer_of(parts, request, job, *progress, &*preview)
                 : problem_of(preview.error());
}

}  // namespace dlo::api
