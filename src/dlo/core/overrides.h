#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/backoff.h"
#include "dlo/core/message.h"
#include "dlo/core/profile.h"
#include "dlo/core/result.h"

namespace dlo {

/// A classifier that takes the place of the profile's.
struct ClassifierOverride {
  std::vector<Rule> rules;
  std::string default_category;
  std::string empty_error_category;
  bool operator==(const ClassifierOverride&) const = default;
};

/// What may differ from the profile. Empty: as the next wider scope says.
struct Override {
  std::optional<std::uint32_t> limit;
  std::optional<RetryPolicy> policy;
  std::optional<ClassifierOverride> classifier;
  bool operator==(const Override&) const = default;
};

using OverrideTable = std::map<std::string, Override, std::less<>>;

/// Overrides as configured (R12, S3-52, S2-18). Those of a single message come with it.
struct Overrides {
  OverrideTable by_source;
  OverrideTable by_event_type;
  OverrideTable by_activity;
};

/// Narrowest first; each setting is taken from the narrowest scope that has it.
enum class OverrideScope : std::uint8_t { message, activity, event_type, source, profile };
[[nodiscard]] std::string_view name_of(OverrideScope scope) noexcept;

/// Where a setting came from: `event_type` and "PaymentCreated".
struct OverrideOrigin {
  OverrideScope scope = OverrideScope::profile;
  std::string name;
  bool operator==(const OverrideOrigin&) const = default;
};
/// "event type PaymentCreated"
[[nodiscard]] std::string describe(const OverrideOrigin& origin);

/// A profile with every override worked in, and where limit, policy and classifier came from.
struct EffectiveProfile {
  Profile profile;
  OverrideOrigin limit;
  OverrideOrigin policy;
  OverrideOrigin classifier;
  /// All three come from the profile itself: its ready-made RuleBook will do.
  [[nodiscard]] bool is_plain() const noexcept {
    return limit.scope == OverrideScope::profile && policy.scope == OverrideScope::profile &&
           classifier.scope == OverrideScope::profile;
  }
};

/// message > activity name or event type > source > profile (R12). A limit replaces the limit of
/// both checks and of every category; a policy that of every category: who asks for five tries
/// means five. What categories lead to (terminal, never) is not changed.
[[nodiscard]] EffectiveProfile apply_overrides(const Profile& profile, const Overrides& overrides,
                                               const Message& message,
                                               const Override& of_message = {});

/// "limit 5 (event type PaymentCreated), policy fixed base=2s (source payments), classifier of
/// profile standard": for `explain`.
[[nodiscard]] std::string describe(const EffectiveProfile& effective);

inline constexpr std::string_view limit_header = "dlo-limit";
inline constexpr std::string_view policy_header = "dlo-policy";

/// What a message asks for itself by `dlo-limit: 5` and `dlo-policy: fixed base=2s`. An unreadable
/// header is an error that names it and what would be right.
[[nodiscard]] Result<Override> override_of(const Headers& headers);

}  // namespace dlo
