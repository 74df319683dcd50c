#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "support/must.h"

#include "dlo/core/decide.h"

namespace dlo::testing {

/// A builtin profile made ready, or the end of the test.
inline RuleBook book_of(std::string_view profile) {
  return must(RuleBook::build(must(find_profile(profile))));
}

inline Failure failure_saying(std::string text) {
  Failure failure;
  failure.text = std::move(text);
  return failure;
}

inline Outcome failed(std::string text) {
  return {OutcomeKind::failed, failure_saying(std::move(text))};
}

/// Counters while execution `n` runs, all before it failed.
inline Counters running(std::uint32_t n) {
  Counters counters;
  counters.fetch = counters.attempt = counters.total = n;
  counters.failure = counters.retry = n - 1;
  return counters;
}

template <typename T>
T verdict(const Decision& decision) {
  const T* held = std::get_if<T>(&decision.verdict);
  if (held == nullptr) {
    throw std::runtime_error("the verdict is " + std::string(name_of(decision.verdict)));
  }
  return *held;
}

/// Claimed for the first time, not started.
inline Counters claimed() {
  Counters counters;
  counters.fetch = 1;
  return counters;
}

/// How the life of one message ended.
struct Death {
  std::uint32_t executions = 0;
  std::uint32_t claims = 0;
  bool before_running = false;  // died in the pre-check
  DeadLetterAs as;
  Counters counters;
  std::string category;
  std::string rule;
  std::vector<Millis> waits;
};

/// Claims and runs one message until it dies, as an engine would, the outcome always the same.
/// Empty if it is still alive after 10 000 claims, or ended otherwise.
inline std::optional<Death> live(const RuleBook& book, const Outcome& outcome,
                                 Counters counters = {}) {
  Death death;
  Millis previous{0};
  std::string last_error;
  for (death.claims = 1; death.claims <= 10'000; ++death.claims) {
    ++counters.fetch;
    const bool interrupted = outcome.kind == OutcomeKind::crashed && death.claims > 1;
    Decision decision = interrupted ? book.resume(counters) : book.before_run(counters, last_error);
    death.before_running = true;
    if (std::holds_alternative<Run>(decision.verdict)) {
      // A crash keeps only what the broker has: the claim and the start mark.
      const bool crashes = outcome.kind == OutcomeKind::crashed;
      counters = RuleBook::started(crashes ? counters : decision.counters);
      ++death.executions;
      if (crashes) continue;
      decision = book.after_run(outcome, counters, noon, 0, previous);
      death.before_running = false;
    }
    counters = decision.counters;
    if (const auto* as = std::get_if<DeadLetterAs>(&decision.verdict)) {
      death.as = *as;
      death.counters = counters;
      death.category = decision.category;
      death.rule = decision.rule;
      return death;
    }
    const auto* retry = std::get_if<RetryAt>(&decision.verdict);
    if (retry == nullptr) return std::nullopt;
    previous = retry->delay;
    last_error = outcome.failure.text;
    death.waits.push_back(retry->delay);
  }
  return std::nullopt;
}

inline std::optional<Death> live_failing(const RuleBook& book, const Failure& failure) {
  return live(book, {OutcomeKind::failed, failure});
}

}  // namespace dlo::testing
