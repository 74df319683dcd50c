#pragma once

#include "dlo/core/decide.h"

namespace dlo {

/// Whether a message that is to run again waits in the office, given that its source can hand it
/// out again at once and can keep nothing until later, as RabbitMQ (R6): everything but an
/// immediate requeue does. A source that keeps waits itself is asked for what its profile says.
[[nodiscard]] constexpr bool waits_in_office(const RetryAt& again, bool source_keeps_waits) {
  if (again.placement == Placement::in_office) return true;
  if (source_keeps_waits) return false;
  return again.placement != Placement::requeue || again.delay > Millis{0};
}

}  // namespace dlo
