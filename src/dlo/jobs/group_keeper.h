#pragma once

#include <cstddef>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/store/office.h"

namespace dlo {

/// What time does to groups, carried out now and then: one without open dead letters of which
/// nothing died for `quiet_for` is resolved, and a snooze that is over ends. Both are in the audit
/// trail, by `office`. Answers how many; at most 500 of each at a time.
[[nodiscard]] Result<std::size_t> keep_groups(Office& office, Millis quiet_for, TimePoint now);

}  // namespace dlo
