#pragma once

#include <vector>

#include "dlo/core/entity.h"
#include "dlo/engine/record.h"
#include "dlo/store/change.h"

namespace dlo {

/// Its attempts so far, with the one that the call for a retry says has failed. `before` as it was
/// when somebody asked.
[[nodiscard]] std::string trail_with_last(const Entity& before, const std::string& node);

/// The dead letter of one whose retries are over: AttemptCount is its retry count, FirstAttemptAt
/// its creation, ErrorMessage the reason (S1-28, S1-30, S1-31). `over.entity.trail` is complete.
[[nodiscard]] Append dead_letter_of(const EntityKind& kind, const RetriesOver& over,
                                    const RuleBook& rules, const Origin& origin, TimePoint now);

}  // namespace dlo
