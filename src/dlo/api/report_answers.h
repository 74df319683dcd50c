#pragma once

#include <cstddef>
#include <string>

#include "dlo/api/report_reading.h"
#include "dlo/engine/report_desk.h"
#include "dlo/server/http.h"

namespace dlo::api {

// What whoever reported is told. His own error comes back with every answer, whatever became of the
// report (S2-16).

[[nodiscard]] HttpResponse answer_of(const Reading& reading, const Reported& reported);
/// Why it was not kept.
[[nodiscard]] HttpResponse refusal_of(const Reading& reading, const Error& error);
[[nodiscard]] HttpResponse refused_while_disabled(const Reading& reading);

/// One line of a batch. `reading` null: the line could not be read.
[[nodiscard]] std::string line_of(std::size_t number, const Reading* reading,
                                  const Result<Reported>& outcome);
[[nodiscard]] std::string line_while_disabled(std::size_t number, const Reading& reading);

}  // namespace dlo::api
