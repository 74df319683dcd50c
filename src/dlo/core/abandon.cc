#include "dlo/core/abandon.h"

#include <algorithm>
#include <limits>

namespace dlo {
namespace {

Counters counted(Counters counters, bool increment) noexcept {
  if (!increment) {
    if (counters.fetch > 0) --counters.fetch;
  } else if (counters.abandon < std::numeric_limits<std::uint32_t>::max()) {
    ++counters.abandon;
  }
  return counters;
}

std::uint32_t narrowed(std::uint64_t count) noexcept {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

/// Whether the only check, before the run, would never see the abandons and has let enough of them
/// pass: it is asked as if each had been an execution that failed. Claims count themselves.
bool unseen_limit_reached(const Profile& profile, std::uint32_t abandons) noexcept {
  if (!profile.pre_check || profile.post_check || abandons == 0) return false;
  const Check& check = *profile.pre_check;
  if (check.counter == CounterName::fetch || check.counter == CounterName::abandon ||
      check.counter == CounterName::abandon_or_fetch) {
    return false;
  }
  Counters failed;
  failed.attempt = failed.failure = abandons;
  failed.retry = abandons - 1;
  const std::uint64_t count = value_of(failed, check.counter);
  return check.comparison == Comparison::greater ? count > check.limit : count >= check.limit;
}

}  // namespace

AbandonDecision decide_abandon(const Profile& profile, const Counters& counters,
                               const AbandonOptions& options) noexcept {
  // What is forced and not counted dies with the count it has.
  const bool as_it_is = options.force_poison && !options.increment_count;
  const Counters after = as_it_is ? counters : counted(counters, options.increment_count);
  const Check* check = profile.post_check ? &*profile.post_check : nullptr;
  std::uint64_t count = after.abandon;
  if (check != nullptr) count = std::max(count, value_of(after, check->counter));

  const std::uint32_t limit =
      options.max_abandon_count.value_or(check != nullptr ? check->limit : profile.limit);
  const bool limited = options.max_abandon_count.has_value() || check != nullptr;
  const bool strictly =
      !options.max_abandon_count && check != nullptr && check->comparison == Comparison::greater;
  const bool reached = strictly ? count > limit : count >= limit;
  const bool ends = limited ? reached : unseen_limit_reached(profile, after.abandon);

  if (options.force_poison || ends) {
    return {Poisoned{poison_count(profile, after)}, after, limit};
  }
  return {Released{}, after, limit};
}

std::uint32_t poison_count(const Profile& profile, const Counters& counters) noexcept {
  std::uint64_t count = counters.abandon;
  for (const auto* check : {&profile.pre_check, &profile.post_check}) {
    if (*check) count = std::max(count, value_of(counters, (*check)->counter));
  }
  return narrowed(count);
}

std::string poison_reason(const Profile& profile) {
  if (profile.post_check && !profile.post_check->reason.empty()) return profile.post_check->reason;
  if (profile.pre_check && !profile.pre_check->reason.empty()) return profile.pre_check->reason;
  return "Poisoned";
}

std::string_view name_of(ErrorClass value) noexcept {
  switch (value) {
    case ErrorClass::infrastructure:
      return "infrastructure";
    case ErrorClass::configuration:
      return "configuration";
    case ErrorClass::application:
      return "application";
    case ErrorClass::poison:
      return "poison";
  }
  return "unknown";
}

std::string describe(const Poison& poison, std::string_view what) {
  std::string text = "poison: ";
  if (poison.activity) {
    text += "activity " + poison.activity->name + "#" + std::to_string(poison.activity->id);
  } else {
    text += what;
  }
  // Below the limit it can only have been asked for: saying "exceeded" would be untrue.
  text +=
      poison.abandon_count < poison.max_abandons ? " was poisoned on request after " : " exceeded ";
  text += std::to_string(poison.abandon_count);
  text += poison.abandon_count == 1 ? " abandon" : " abandons";
  text += " (max " + std::to_string(poison.max_abandons) + ")";
  if (poison.last_error && !poison.last_error->empty()) text += ": " + *poison.last_error;
  return text;
}

}  // namespace dlo
