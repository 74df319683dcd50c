#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/dead_letter.h"
#include "dlo/core/decide.h"

namespace dlo {

/// Who ran it.
struct Origin {
  std::string node;
  std::string build;
};

/// The type of an error that an abandon gave.
inline constexpr std::string_view abandoned_type = "Abandoned";

/// Everything known about the end of one delivery.
struct RecordInput {
  const Delivery& delivery;
  RecordId id;
  std::uint32_t occurrence = 1;
  const Decision& decision;     // DeadLetterAs, or RetryAt for a message that waits in the office
  const Failure& failure;       // already redacted (R26)
  std::optional<Attempt> last;  // the attempt that led here; empty: it died without running
  const RuleBook& rules;
  const std::string& handler;
  const Origin& origin;
  TimePoint now{};
  bool quarantine = false;  // it killed its process while it ran alone (R7)
};

/// The record, ready for the office. Pure: the same input gives the same record.
[[nodiscard]] DeadLetter build_record(const RecordInput& input);

/// Attempts to store with it, oldest first: the trail the message carried, then the last one.
[[nodiscard]] std::vector<Attempt> attempts_of(const RecordInput& input);

/// The last true error of a message that dies without running again (I9): what its broker
/// remembers, which is the newest, also if an abandon left it that was no execution; else what its
/// newest failed attempt said.
[[nodiscard]] Failure last_known_failure(const Delivery& delivery);

/// One attempt as it is remembered. `failure` already redacted.
[[nodiscard]] Attempt make_attempt(const Counters& counters, TimePoint started, TimePoint ended,
                                   OutcomeKind outcome, const Decision& decision,
                                   const Failure& failure, const std::string& node);

/// A run without an end: what is said about it, and how it is remembered by whoever found out.
[[nodiscard]] Failure cut_off_failure(const Counters& counters);
[[nodiscard]] Attempt cut_off_attempt(const Counters& counters, TimePoint found,
                                      const std::string& node);

/// Its trail, with a row for each run in a row that was cut off: nobody wrote of them when they
/// ended, so each of them is told by whoever has the message next.
[[nodiscard]] std::string with_cut_off_runs(const Delivery& delivery, TimePoint found,
                                            const std::string& node);

}  // namespace dlo
