#pragma once

#include <iosfwd>
#include <string>

#include "dlo/journal/journal.h"

namespace dlo::cli {

/// What opening the queues of `data` had to cut off, told to whoever opened them; nothing if there
/// was nothing.
void tell_recovery(std::ostream& err, const std::string& data, const RecoveryReport& report);

/// What a stop in good order can promise of all that was acknowledged, after such an opening.
[[nodiscard]] const char* what_is_kept(const RecoveryReport& report) noexcept;

}  // namespace dlo::cli
