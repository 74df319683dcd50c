#pragma once

#include <cstdint>

#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo {

/// How many match, counted to the end, however many pages that takes: for whoever must be sure
/// before much is done at once. With `changed_up_to` what comes in meanwhile is not counted.
[[nodiscard]] Result<std::uint64_t> count_matching(Office& office, Query query);

}  // namespace dlo
