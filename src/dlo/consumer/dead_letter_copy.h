#pragma once

#include <cstdint>
#include <string>

#include "dlo/core/dead_letter.h"
#include "dlo/core/message.h"

namespace dlo::consumer {

/// How much of a death its copy tells: headers share one frame with those the message came with.
enum class Telling : std::uint8_t { all, briefly, nothing };

struct CopyForm {
  std::string queue;           // in which it failed
  bool booking_names = false;  // also under the names of document 001's consumers (R1-4)
};

/// The message as it came, for the dead-letter queue of its consumer, with what is known of its
/// death in headers. The office has all of it; here a long stack or error is cut (RMQ-11). Whatever
/// an earlier copy told is replaced, and it does not expire again.
[[nodiscard]] MessagePtr copy_of(const DeadLetter& record, const CopyForm& form, Telling telling);

}  // namespace dlo::consumer
