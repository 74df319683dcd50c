#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "dlo/broker/embedded/depot.h"

namespace dlo::embedded {

/// A message that is about to be read: where it lies, and what its slot says of it.
struct Depot::Claim {
  SlotNumber slot = no_slot;
  std::uint64_t number = 0;  // of its lease
  std::uint32_t phase = 0;   // see Depot::Reading
  bool leased = false;
  Instant until;
  Address at;
  bool has_state = false;
  bool carries = false;
  bool can_expire = false;
  bool repeat = false;
  bool redriven = false;
};

/// The same, read.
struct Depot::Loaded {
  std::shared_ptr<Message> message;
  MessageState state;
  Address body;
  std::optional<Error> unread;  // why the disk did not give it; not that it is damaged
  bool left_out = false;        // expired and dropped, or its lease was over before it was read
};

}  // namespace dlo::embedded
