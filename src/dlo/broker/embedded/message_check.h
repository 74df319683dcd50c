#pragma once

#include <vector>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/journal/inspection.h"

namespace dlo::embedded {

/// Reads the state and the body of every message that is held: counts them by queue, and answers
/// those that cannot be read. They are also among the damages, unless they lie in what has been
/// set aside.
std::vector<SlotNumber> check_messages(Holdings& holdings, Inspection& journal, QueueCheck& check);

}  // namespace dlo::embedded
