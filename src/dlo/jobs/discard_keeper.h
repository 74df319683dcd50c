#pragma once

#include <cstddef>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/store/office.h"

namespace dlo {

/// What the audit trail calls the removal; its detail names every dead letter with its source and
/// group, so that whoever listens to events hears of each.
inline constexpr std::string_view removal_act = "discard.remove";

/// Removes for good what was discarded at least `grace` ago and not restored since; `restore` is
/// the undo until then. In the audit trail, by `office`. Answers how many, at most 1000 at a time.
/// Costs what is due, however much waits.
[[nodiscard]] Result<std::size_t> sweep_discarded(Office& office, Millis grace, TimePoint now);

}  // namespace dlo
