#pragma once

#include <string>
#include <string_view>

#include "dlo/core/retry_names.h"
#include "dlo/json/fields.h"
#include "dlo/retries/task_report.h"

namespace dlo::api {

/// One report as it came in.
using Reading = TaskReport;

/// A JSON object: the members of a message (docs/api.md) beside `error` or `failure`, `attempts`,
/// `final`, `profile`, `handler`, `metadata`, `tags`; for tasks that the office retries also
/// `task_id`, `task`, `targets` (or `repos`), `policy`, `max_retries`, `category`, `requested`,
/// `template`. `names`: the schedules and templates that it may name.
[[nodiscard]] Result<Reading> read_report(std::string_view text, TimePoint now,
                                          const RetryNames& names = {});

/// A message, whose payload is `payload` (text, or base64 beside `payload_encoding`) or `json` (any
/// JSON, kept as it is written).
[[nodiscard]] Message read_sent_message(JsonFields& fields, TimePoint now);

}  // namespace dlo::api
