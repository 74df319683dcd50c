#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dlo/core/result.h"

namespace dlo {

/// What is counted per message, and persisted with it. Facts only; profiles choose what they look
/// at.
struct Counters {
  std::uint32_t fetch = 0;    // claims, given back when a claim never started (R1)
  std::uint32_t attempt = 0;  // starts of the handler, since the last replay
  std::uint32_t failure = 0;  // attempts that ended in a failure or a crash
  std::uint32_t abandon = 0;  // abandons that asked to be counted (S3-22)
  std::uint32_t retry = 0;    // starts after the first
  std::uint32_t replay = 0;   // times a person or a job sent it back
  std::uint32_t total = 0;    // starts ever, replays included
  bool operator==(const Counters&) const = default;
};

/// The start mark (R1), and its undoing where a marked start never ran. Brokers do the former once
/// per message, so both are inline.
[[nodiscard]] constexpr Counters with_start(Counters counters) noexcept {
  constexpr auto more = [](std::uint32_t& count) { count += count != UINT32_MAX; };
  if (counters.attempt > 0) more(counters.retry);
  more(counters.attempt);
  more(counters.total);
  return counters;
}
[[nodiscard]] constexpr Counters without_start(Counters counters) noexcept {
  constexpr auto less = [](std::uint32_t& count) { count -= count != 0; };
  if (counters.attempt > 1) less(counters.retry);
  less(counters.attempt);
  less(counters.total);
  return counters;
}

/// A counter as a profile names it. The last two are derived from the facts above.
enum class CounterName : std::uint8_t {
  fetch,
  attempt,
  failure,
  abandon,
  retry,
  next_retry,        // retry + 1: the number of the retry that is owed now (S4)
  abandon_or_fetch,  // max(abandon, fetch): durable+safe counts crashes as well as abandons
};

[[nodiscard]] std::uint64_t value_of(const Counters& counters, CounterName name) noexcept;
[[nodiscard]] std::string_view name_of(CounterName name) noexcept;
[[nodiscard]] std::optional<CounterName> parse_counter_name(std::string_view text) noexcept;

/// Sets one fact by its name (`fetch`, `attempt`, ..., `replay`, `total`). Refuses other names,
/// derived ones too, with the valid names and the nearest spelling.
[[nodiscard]] Result<void> set_counter(Counters& counters, std::string_view name,
                                       std::uint32_t value);

/// All facts in one line: `fetch=2 attempt=2 failure=1 abandon=0 retry=1 replay=0 total=2`.
[[nodiscard]] std::string print(const Counters& counters);

}  // namespace dlo
