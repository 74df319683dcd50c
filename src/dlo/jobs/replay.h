#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/message.h"
#include "dlo/core/ramp.h"
#include "dlo/core/result.h"
#include "dlo/store/query.h"

namespace dlo {

/// How dead letters are sent back.
struct ReplaySpec {
  std::string target;  // a queue; empty: each to the source it came from
  std::uint64_t canary = 0;
  std::uint32_t success_percent = 95;
  Millis watch{60'000};                       // not back by then: presumed cured (R24)
  std::optional<std::uint32_t> most_replays;  // of one message; empty: its profile's, or 10
  bool quarantined_too = false;               // those are otherwise left where they are
  std::vector<std::string> strip;             // headers that do not go along
  Headers set_headers;                        // and those that go along instead
  bool operator==(const ReplaySpec&) const = default;
  [[nodiscard]] RampRule ramp() const noexcept { return {canary, success_percent}; }
};

/// Where messages can be sent. Both from any thread.
struct ReplayTargets {
  /// Why nothing can be sent to a queue of this name; ok if it can.
  std::function<Result<void>(const std::string& target)> check;
  /// All or none; ok once the target has them durably. A repeat (by `dedupe_id`) is dropped there.
  std::function<Result<void>(const std::string& target, std::span<const Publication>, TimePoint)>
      send;
};

/// How often a message may be sent back under this spec.
[[nodiscard]] std::uint32_t replay_limit(const ReplaySpec& spec, const DeadLetter& record);

/// The message as it goes out: its newest version, stamped with where it came from, counters as
/// its profile wants them, and an id by which a repeat of the same replay is known.
/// `record` counts this replay already.
[[nodiscard]] Publication replay_of(const RecordDetail& detail, const std::string& target,
                                    const ReplaySpec& spec, TimePoint now);

}  // namespace dlo
