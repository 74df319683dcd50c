#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"

namespace dlo {

/// What a token is for, within its role. Empty: everything the role may.
struct Scope {
  std::vector<std::string> sources;  // by name
  std::vector<std::string> actions;  // "read", "queues.receive", "dead-letters.*"
  bool operator==(const Scope&) const = default;
};

[[nodiscard]] bool allows_source(const Scope& scope, std::string_view source) noexcept;
[[nodiscard]] bool allows_action(const Scope& scope, std::string_view action) noexcept;

/// Refuses what can never fit: empty or overlong names, too many of them.
[[nodiscard]] Result<void> check(const Scope& scope);
/// Refuses actions that `known` does not have, with the nearest spelling.
[[nodiscard]] Result<void> check_actions(const Scope& scope, const std::vector<std::string>& known);

/// Refuses a scope that would allow something which `own` does not, with what that is: nobody gives
/// what he does not have.
[[nodiscard]] Result<void> check_within(const Scope& wanted, const Scope& own);

}  // namespace dlo
