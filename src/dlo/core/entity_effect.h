#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

enum class EffectState : std::uint8_t {
  pending,  // owed, and tried again until it works
  applied,
  failed,  // refused too often: it waits for a person
};
[[nodiscard]] std::string_view name_of(EffectState state) noexcept;
[[nodiscard]] std::optional<EffectState> parse_effect_state(std::string_view text) noexcept;

/// What the owner of an entity has to hear of its death, and how far that is.
struct EntityEffect {
  EffectState state = EffectState::pending;
  std::uint32_t tries = 0;
  std::string why{};                   // the last try went wrong
  TimePoint at{};                      // of the last change
  std::optional<TimePoint> next_at{};  // of the next try
  bool operator==(const EntityEffect&) const = default;
};

/// How often an effect may be refused; what only might work later is tried for ever.
inline constexpr std::uint32_t effect_refusals = 5;

/// The rule after a try. Success ends it. A failure that may pass (`is_retryable`) is tried again
/// after 1 s, then after twice as long as before, 5 minutes at most; any other one so, too, but no
/// more than `effect_refusals` times.
[[nodiscard]] EntityEffect after_try(EntityEffect effect, const Result<void>& outcome,
                                     TimePoint now);

/// An effect that is owed from now on.
[[nodiscard]] EntityEffect effect_due(TimePoint now);

}  // namespace dlo
