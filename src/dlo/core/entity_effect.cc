#include "dlo/core/entity_effect.h"

#include <array>
#include <chrono>

#include "dlo/core/backoff.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 3> names = {"pending", "applied", "failed"};

}  // namespace

std::string_view name_of(EffectState state) noexcept {
  return names[static_cast<std::size_t>(state)];
}

std::optional<EffectState> parse_effect_state(std::string_view text) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<EffectState>(i);
  }
  return std::nullopt;
}

EntityEffect after_try(EntityEffect effect, const Result<void>& outcome, TimePoint now) {
  static const RetryPolicy patience{.kind = PolicyKind::exponential,
                                    .base = std::chrono::seconds{1},
                                    .cap = std::chrono::minutes{5}};
  if (effect.tries != UINT32_MAX) ++effect.tries;
  effect.at = now;
  effect.next_at.reset();
  effect.why.clear();
  if (outcome) {
    effect.state = EffectState::applied;
    return effect;
  }
  effect.why = outcome.error().detail;
  if (!is_retryable(outcome.error().code) && effect.tries >= effect_refusals) {
    effect.state = EffectState::failed;
    return effect;
  }
  effect.state = EffectState::pending;
  effect.next_at = now + delay_before(patience, effect.tries, Millis{0}, 0).value_or(Millis{0});
  return effect;
}

EntityEffect effect_due(TimePoint now) {
  EntityEffect effect;
  effect.at = now;
  effect.next_at = now;
  return effect;
}

}  // namespace dlo
