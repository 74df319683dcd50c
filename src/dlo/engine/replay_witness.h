#pragma once

#include <span>

#include "dlo/core/identity.h"
#include "dlo/core/message.h"
#include "dlo/store/office.h"

namespace dlo {

/// What `detail` is to a message that says it was sent from it.
[[nodiscard]] Sender sender_of(const RecordDetail& detail, const Message& message);

/// A message that was sent back from the office was completed: its dead letter is resolved, and
/// that is verified, not presumed (R24). For messages without lineage this does nothing and asks
/// nothing. A record that has died again since, or that somebody took elsewhere, stays as it is.
/// What cannot be written is left: the replay is presumed cured when its watch ends.
void witness_replays(Office& office, std::span<const MessagePtr> completed, TimePoint now);

}  // namespace dlo
