#pragma once

#include <vector>

#include "dlo/broker/embedded/broken_list.h"
#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/journal/inspection.h"

namespace dlo::embedded {

/// A message that is held and cannot be read.
struct Unreadable {
  SlotNumber slot = no_slot;
  Address at;          // of what is damaged: its state or its body
  bool known = false;  // its bytes have been set aside, or a repair has told of it
};

/// Reads the state and the body of every message that is held: counts them by queue, and answers
/// those that cannot be read. They are also among the damages, unless they are `known`.
std::vector<Unreadable> check_messages(Holdings& holdings, Inspection& journal,
                                       const BrokenList& told, QueueCheck& check);

/// What to tell of a journal whose disk did not give a record: that says nothing of the record.
[[nodiscard]] Error not_given(const Error& why);

}  // namespace dlo::embedded
