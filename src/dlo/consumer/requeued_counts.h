#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/broker/broker.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo::consumer {

/// What is known of a message that was given back to its broker as it is.
struct RequeuedCounts {
  Counters counters;
  TimePoint at{};  // when it was given back
  std::optional<TimePoint> first_attempt_at{};
  Millis previous_delay{0};
  std::string error{};
  std::string trail{};
  std::uint32_t started = 0;  // the attempt that was begun since; 0: none was
  bool operator==(const RequeuedCounts&) const = default;
};

[[nodiscard]] RequeuedCounts counts_of(const Failed& failed, const Delivery& delivery,
                                       TimePoint now);
/// The delivery goes on from there: this claim is counted, and nothing is forgotten that its broker
/// counted itself (R6).
void go_on(Delivery& delivery, const RequeuedCounts& counts);
/// Somebody began this attempt and died before its end: with all that were begun so far it counts
/// as interrupted (R7). Nothing, if its end is known.
void interrupt(Delivery& delivery, std::uint32_t attempt);

[[nodiscard]] std::string print(const RequeuedCounts& counts);
/// Empty unless `text` is what `print` writes.
[[nodiscard]] std::optional<RequeuedCounts> parse_requeued(std::string_view text);

}  // namespace dlo::consumer
