#pragma once

#include <string>
#include <string_view>

#include "dlo/core/decide.h"

namespace dlo {

// Deaths that no failed run and no limit decided. Each has a category all the same, so that nobody
// has to look for dead letters under an empty name.

/// Of what a worker condemned with words that no rule knows.
inline constexpr std::string_view rejected_category = "rejected";
/// Of what expired before anything was found out about it.
inline constexpr std::string_view expired_category = "expired";

/// Its time to live was over before it could run. The category is that of its newest error, if one
/// is known: see below.
[[nodiscard]] Decision expired(const RuleBook& rules, const Counters& counters,
                               std::string description);

/// A worker condemned it, for a reason of its own; `counters` as `started()` left them. What it
/// said is classified: a rule that fires names the category.
[[nodiscard]] Decision condemned(const RuleBook& rules, Counters counters, std::string reason,
                                 std::string description);

/// The category of a death that was not classified itself, and no attempt of which is known that
/// was. `last` is the newest error that is known.
[[nodiscard]] std::string_view category_of(const RuleBook& rules, const DeadLetterAs& death,
                                           const Failure& last);

}  // namespace dlo
