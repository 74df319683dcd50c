#pragma once

#include <functional>
#include <vector>

#include "dlo/api/router.h"
#include "dlo/jobs/job_book.h"

namespace dlo::api {

/// Bulk acts.
///   POST /v1/jobs                   {act, query | ids, order, limit, rate, by, how, notes, at,
///                                   start, dry_run}
///                                   act replay: {target, canary, success_percent, watch,
///                                   most_replays, quarantined_too, again, strip, set_headers,
///                                   recipe, concurrency}
///                                   act repair: {recipe} · act tag: {tags, remove_tags}
///   GET  /v1/jobs                   see job_list.h
///   GET  /v1/jobs/{id}              with progress; ?preview=true adds count and sample
///   POST /v1/jobs/{id}/start        also pause, resume, cancel
///   GET  /v1/jobs/{id}/items        outcomes by record id; ?outcome=changed, ?after=ID
struct JobParts {
  Office& office;
  JobBook& book;
  ReplayTargets targets;
  std::function<void()> wake;  // the runner
};
/// What POST /v1/jobs does; other resources ask for jobs by it.
[[nodiscard]] HttpResponse plan_job(const JobParts& parts, const Request& request);
[[nodiscard]] std::vector<Route> job_routes(const JobParts& parts);

}  // namespace dlo::api
