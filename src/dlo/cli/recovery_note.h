#pragma once

#include <iosfwd>
#include <string>

#include "dlo/journal/journal.h"

namespace dlo::cli {

/// What opening the queues of `data` had to cut off, told to whoever opened them; nothing if there
/// was nothing.
void tell_recovery(std::ostream& err, const std::string& data, const RecoveryReport& report);

}  // namespace dlo::cli
