#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/core/decide.h"

namespace dlo {

/// A setting that did not come from the profile itself (R12): message > event type > source.
struct AppliedOverride {
  std::string setting;  // "limit"
  std::string value;    // "8"
  std::string from;     // "event type PaymentFailed"
  bool kept = false;    // by the record of what happened; `from` says what holds now
};

/// "What would happen if this failed like that?"
struct Question {
  Outcome outcome{OutcomeKind::failed, {}};
  std::uint32_t attempt = 1;  // the Nth execution, all earlier ones failed and counted (R11)
  std::vector<std::pair<std::string, std::uint32_t>> counters;  // override what N implies
  std::optional<Counters> lived{};  // as they really were while it ran, instead of what N implies
  bool before_run = false;          // it ended at a claim: `lived` as they were then
  std::string found_now{};          // the rules find another category now than its record has
  std::vector<AppliedOverride> overrides;  // already in the book's profile; named in the answer
  Millis previous{0};                      // the wait before this execution
  TimePoint now{};
  std::uint64_t random = std::uint64_t{1} << 63;  // the middle of any jitter
};

struct ExplainStep {
  std::string_view step;  // a stable word: profile, override, pre_check, classify, ...
  std::string text;       // one sentence for people
};

/// The answer, made by the same code that decides in earnest.
struct Explanation {
  std::string profile;
  std::vector<ExplainStep> steps;  // in the order of the procedure
  std::string category;            // empty if nothing was classified
  std::string rule;                // empty: a default applied
  Verdict verdict;
  std::string because;
  std::optional<Millis> delay;  // of a retry, with the range that jitter leaves open
  Millis shortest_delay{0};
  Millis longest_delay{0};
  std::string policy;        // the retry policy that applied, printed
  std::uint32_t limit = 0;   // the limit that applied
  bool ran = true;           // false: the pre-check ended it before the handler
  Counters counters_at_run;  // while the handler ran
  Counters counters_after;
  std::string caution;  // what whoever follows this profile risks (caution.h); mostly empty
};

/// "dead letter NonRetryableError: bad request", "retry after 2s, placed delayed"
[[nodiscard]] std::string describe(const Verdict& verdict);

/// Pure. Refuses an attempt of zero and unknown counter names.
[[nodiscard]] Result<Explanation> explain(const RuleBook& book, const Question& question);

}  // namespace dlo
