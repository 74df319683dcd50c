#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dlo/api/report_reading.h"
#include "dlo/core/result.h"
#include "dlo/retries/task_report.h"
#include "dlo/server/http.h"

namespace dlo::api {

// What whoever reported is told. His own error comes back with every answer, whatever became of the
// report (S2-16).

[[nodiscard]] HttpResponse answer_of(const TaskAnswer& answer);
/// Why it was not kept.
[[nodiscard]] HttpResponse refusal_of(const Reading& reading, const Error& error);
[[nodiscard]] TaskAnswer refused(const Reading& reading, const Error& error);

/// Of a report that could not be read: with his error if at least that can be found, else the
/// reason alone.
[[nodiscard]] Result<TaskAnswer> unreadable(std::string_view body, const Error& error);

/// One line of a batch: what became of it, or why it could not even be read.
[[nodiscard]] std::string line_of(std::size_t number, const Result<TaskAnswer>& outcome);
/// Whether something was to be kept and is not.
[[nodiscard]] bool is_refused(const Result<TaskAnswer>& outcome) noexcept;

}  // namespace dlo::api
