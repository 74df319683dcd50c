#pragma once

#include <string>
#include <vector>

#include "dlo/consumer/line_events.h"
#include "dlo/core/result.h"

namespace dlo::cli {

/// What the log says of a message that was handled well: what stands at these places of its payload
/// (S1-18), such as `BookingId: 7` for `data.BookingId`. No places: nothing is said at all.
[[nodiscard]] Result<consumer::SayDone> done_line(const std::vector<std::string>& places);

}  // namespace dlo::cli
