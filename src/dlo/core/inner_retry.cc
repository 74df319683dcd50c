// Tries of one attempt: what of a profile's inner pipeline is left for it.
#include <algorithm>

#include "dlo/core/decide.h"

namespace dlo {

std::optional<Millis> RuleBook::try_again(const Outcome& outcome, std::uint32_t tries,
                                          Millis previous, std::uint64_t random) const {
  const InnerPipeline& inner = profile_.inner;
  if (outcome.kind != OutcomeKind::failed || tries > inner.retries) return {};
  if (!inner.retry_on.empty()) {
    const std::string_view category = classifier_.classify(outcome.failure).category;
    if (std::ranges::find(inner.retry_on, category) == inner.retry_on.end()) return {};
  }
  const auto wait = delay_before(inner.policy, tries, previous, random, custom_);
  // Who asks for more patience is asked again by the next attempt, which has it.
  if (wait && outcome.failure.retry_after.value_or(Millis{0}) > *wait) return {};
  return wait;
}

}  // namespace dlo
