#pragma once

#include "dlo/api/request.h"
#include "dlo/core/forms.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// The record that the first {id} of a path names, by its own id or as the only open one of a task,
/// or why there is none.
[[nodiscard]] Result<RecordDetail> find_record(Office& office, const Request& request);
/// ... as whoever asks is to see it: behind the curtain, unless it is revealed.
[[nodiscard]] Result<RecordDetail> find_shown(Office& office, const Request& request);
[[nodiscard]] Result<RecordId> record_id(Office& office, const Request& request);
[[nodiscard]] FormContext form_context(const RecordDetail& detail);

}  // namespace dlo::api
