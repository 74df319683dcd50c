#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dlo/core/profile.h"

namespace dlo {

/// What a strategy does with a failure (S2-26..30).
enum class Intake : std::uint8_t {
  enqueue,             // keep it and retry it
  record_not_retried,  // keep it, as a dead letter that no automatic retry touches
  skip,                // do not keep it: whoever reported it is told
};

struct IntakeDecision {
  Intake intake = Intake::enqueue;
  /// A stable word for counters, one per kind of skip (R2-9 had one for all): skipped_permanent,
  /// skipped_permission, skipped_validation, skipped_manual, skipped_disabled; enqueued;
  /// manually_enqueued.
  std::string_view counter;
  std::string reason;  // for people; empty when it is enqueued
  bool operator==(const IntakeDecision&) const = default;
};

/// Whether a failure of `category` goes into the office. `requested`: a person or the program asked
/// for this one. With `Skips::record`, what the strategy would not keep is recorded all the same
/// and not retried: a strategy may save work, never lose a message.
[[nodiscard]] IntakeDecision admits(Strategy strategy, std::string_view category, Skips skips,
                                    bool requested = false);

}  // namespace dlo
