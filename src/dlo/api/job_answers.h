#pragma once

#include "dlo/api/jobs.h"
#include "dlo/api/request.h"
#include "dlo/json/writer.h"

namespace dlo::api {

/// A job as whoever asks may see it, with its progress, and what is left of it unless `preview` is
/// null.
[[nodiscard]] HttpResponse answer_of(const JobParts& parts, const Request& request, const Job& job,
                                     const JobProgress& progress, const JobPreview* preview,
                                     int status = 200);
/// The same, with both looked up.
[[nodiscard]] HttpResponse answer_with(const JobParts& parts, const Request& request,
                                       const Job& job, bool with_preview);

/// The member `progress`: how far it is, for people and programs.
void write_progress(JsonWriter& json, const Job& job, const JobProgress& progress);

/// The member `preview`. A target that nothing can be sent to has a `problem`, one that a redirect
/// rule named that rule.
void write_preview(JsonWriter& json, const Job& job, const JobPreview& preview,
                   const ReplayTargets& targets);

}  // namespace dlo::api
