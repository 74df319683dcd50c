#pragma once

#include "dlo/core/profile.h"

namespace dlo {

/// What becomes of malformed messages of a queue that is handled here. A profile may drop them
/// because its document does; a queue loses nothing unless somebody has said so of that queue (R8).
[[nodiscard]] constexpr InvalidAction invalid_at(InvalidAction of_profile,
                                                 bool queue_drops) noexcept {
  if (queue_drops) return InvalidAction::drop;
  return of_profile == InvalidAction::drop ? InvalidAction::dead_letter : of_profile;
}

}  // namespace dlo
