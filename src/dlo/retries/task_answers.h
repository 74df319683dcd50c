#pragma once

#include <string>

#include "dlo/retries/task_report.h"

namespace dlo {

// What whoever hands a failed task over is told (S2-16).

/// Of a report that nothing is known of yet.
[[nodiscard]] TaskAnswer answer_to(const TaskReport& report);

void refuse(TaskAnswer& answer, std::string code, Error error);
void refuse(TaskAnswer& answer, Error error);

/// What was decided.
void tell(TaskAnswer& answer, const TaskReport& report, Reported reported);

/// It was handed over before: what the office goes by is what it has, whatever this report asks
/// for. `held`: it waits for others, and nobody has released it. Comes after `tell`.
void tell_kept(TaskAnswer& answer, const TaskReport& report, DeadLetterPtr kept, bool held);

}  // namespace dlo
