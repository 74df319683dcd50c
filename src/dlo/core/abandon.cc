#include "dlo/core/abandon.h"

#include <algorithm>
#include <limits>

#include "dlo/core/endings.h"

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

/// What a check would look at if each abandon had been an execution that failed, and nothing else
/// had happened.
std::uint64_t of_abandons(const Check& check, const Counters& counters) noexcept {
  if (counters.abandon == 0) return 0;
  Counters failed;
  failed.fetch = failed.attempt = failed.failure = failed.abandon = counters.abandon;
  failed.retry = counters.abandon - 1;
  return value_of(failed, check.counter);
}

bool is_beyond(const Check& check, std::uint64_t count, std::uint32_t limit) noexcept {
  return check.comparison == Comparison::greater ? count > limit : count >= limit;
}

bool trips(const Profile& profile, const Check& check, const Counters& counters) noexcept {
  const std::uint64_t own = count_for(profile, check.counter, counters);
  return is_beyond(check, std::max(own, of_abandons(check, counters)), check.limit);
}

/// Whether the check before the next run sees the abandons, or the claims they ended, by itself.
bool counts_itself(const Check& check) noexcept {
  return check.counter == CounterName::fetch || check.counter == CounterName::abandon ||
         check.counter == CounterName::abandon_or_fetch;
}

bool reaches_limit(const Profile& profile, const Counters& after,
                   const std::optional<std::uint32_t>& limit_of_call) noexcept {
  const auto& check = profile.post_check;
  if (limit_of_call) {
    const std::uint64_t own = check ? count_for(profile, check->counter, after) : 0;
    return std::max<std::uint64_t>(after.abandon, own) >= *limit_of_call;
  }
  if (check) return trips(profile, *check, after);
  if (!profile.pre_check || after.abandon == 0 || counts_itself(*profile.pre_check)) return false;
  return trips(profile, *profile.pre_check, after);
}

/// ... by what is not counted, and brings no limit: S3-20 compares all the same.
bool had_reached_limit(const Profile& profile, const Counters& counters,
                       const std::optional<std::uint32_t>& carried) noexcept {
  if (counters.abandon == 0) return false;
  if (carried) return counters.abandon >= *carried;
  if (const auto& check = profile.post_check) {
    return is_beyond(*check, of_abandons(*check, counters), check->limit);
  }
  const auto& check = profile.pre_check;
  return check && !counts_itself(*check) &&
         is_beyond(*check, of_abandons(*check, counters), check->limit);
}

/// By which limit the check before the next run would end it, with `limit` if that is the higher
/// one; empty: it would not.
std::optional<std::uint32_t> dies_unrun(const Profile& profile, const Counters& after,
                                        std::uint32_t limit) noexcept {
  const auto& check = profile.pre_check;
  if (!check) return std::nullopt;
  Counters claimed = after;
  claimed.fetch += claimed.fetch != std::numeric_limits<std::uint32_t>::max();
  limit = std::max(check->limit, limit);
  const bool dies = is_beyond(*check, count_for(profile, check->counter, claimed), limit);
  return dies ? std::optional(limit) : std::nullopt;
}

}  // namespace

AbandonDecision decide_abandon(const Profile& profile, const Counters& counters,
                               const AbandonOptions& options, bool carries_limit,
                               std::optional<std::uint32_t> carried) noexcept {
  // What is forced and not counted dies with the count it has.
  const bool as_it_is = options.force_poison && !options.increment_count;
  const Counters after = as_it_is ? counters : counted(counters, options.increment_count);
  const std::uint32_t own = profile.post_check ? profile.post_check->limit : profile.limit;
  if (options.increment_count) carried.reset();  // it is the limit of this call that counts now
  const std::uint32_t limit = options.max_abandon_count.value_or(carried.value_or(own));
  const bool reached = options.increment_count || options.max_abandon_count
                           ? reaches_limit(profile, after, options.max_abandon_count)
                           : had_reached_limit(profile, after, carried);
  if (options.force_poison || reached) {
    return {Poisoned{poison_count(profile, after)}, after, limit};
  }
  if (options.max_abandon_count) {
    if (const auto by = dies_unrun(profile, after, carries_limit ? limit : 0)) {
      return {Poisoned{poison_count(profile, after)}, after, *by};
    }
  }
  return {Released{}, after, limit};
}

std::uint32_t poison_count(const Profile& profile, const Counters& counters) noexcept {
  std::uint64_t count = counters.abandon;
  // Who dies before a run has been claimed once more than it ran.
  Counters ran = counters;
  if (!profile.claims_count && ran.attempt > 0) ran.fetch = std::min(ran.fetch, ran.attempt);
  for (const auto* check : {&profile.pre_check, &profile.post_check}) {
    if (!*check) continue;
    const CounterName counter = (*check)->counter;
    const bool owed_only = counter == CounterName::next_retry && counters.retry == 0 &&
                           counters.attempt == 0;  // the number of a retry, and nothing ran yet
    if (!owed_only) count = std::max(count, count_for(profile, counter, ran));
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
  // Below the limit, or with none, it can only have been asked for: "exceeded" would be untrue.
  const bool asked = poison.abandon_count < poison.max_abandons || poison.max_abandons == 0;
  const std::uint32_t abandons = poison.abandons.value_or(poison.abandon_count);
  const std::uint32_t count = asked ? abandons : poison.abandon_count;
  text += asked ? " was poisoned on request after " : " exceeded ";
  text += std::to_string(count);
  text += count == abandons ? " abandon" : " attempt";
  if (count != 1) text += "s";
  text += " (max " + std::to_string(poison.max_abandons) + ")";
  if (poison.last_error && !poison.last_error->empty()) text += ": " + *poison.last_error;
  return text;
}

}  // namespace dlo
