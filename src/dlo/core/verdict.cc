// What is asked of a decision once it is made.
#include <array>
#include <chrono>

#include "dlo/core/decide.h"

namespace dlo {

std::string_view name_of(const Verdict& verdict) noexcept {
  constexpr std::array<std::string_view, std::variant_size_v<Verdict>> names = {
      "run", "complete", "retry", "dead_letter", "give_back", "drop", "reject_to_caller"};
  return verdict.index() < names.size() ? names[verdict.index()] : "unknown";
}

Counters after_replay(const Counters& counters, ReplayCount how) noexcept {
  Counters next = counters;
  next.replay += next.replay != UINT32_MAX;
  if (how == ReplayCount::carry_on) return next;
  next.fetch = next.attempt = next.failure = next.abandon = next.retry = 0;
  return next;
}

std::optional<TimePoint> first_attempt_of(const Profile& profile, const Counters& counters,
                                          std::optional<TimePoint> measured,
                                          TimePoint died_at) noexcept {
  if (profile.first_attempt == FirstAttempt::measured) return measured;
  return died_at - std::chrono::seconds{5} * std::int64_t{counters.failure};
}

}  // namespace dlo
