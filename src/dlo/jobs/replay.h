#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/message.h"
#include "dlo/core/profile.h"
#include "dlo/core/ramp.h"
#include "dlo/core/redirect.h"
#include "dlo/core/result.h"
#include "dlo/jobs/replay_target.h"
#include "dlo/store/query.h"

namespace dlo {

/// How dead letters are sent back.
struct ReplaySpec {
  std::string target;  // a queue or exec:NAME; empty: each to the source it came from, but ...
  std::vector<RedirectRule> redirects;  // ... these, as they were when the job was planned: who
                                        // goes on after a kill sends to the same place
  std::uint64_t canary = 0;
  std::uint32_t success_percent = 95;
  Millis watch{60'000};                       // not back by then: presumed cured (R24)
  std::optional<std::uint32_t> most_replays;  // of one message; empty: its profile's, or 10
  bool quarantined_too = false;               // those are otherwise left where they are
  bool again = false;                         // those whose outcome is still awaited, too
  std::vector<std::string> strip;             // headers that do not go along; * is anything
  Headers set_headers;                        // and those that go along instead
  std::uint64_t concurrency = 0;              // so many whose outcome is awaited; 0: any number
  bool operator==(const ReplaySpec&) const = default;
  [[nodiscard]] RampRule ramp() const noexcept { return {canary, success_percent}; }
  [[nodiscard]] Direction direction(std::string_view source, std::string_view event_type) const {
    return direction_of(target, redirects, source, event_type);
  }
};

/// Targets beyond this server: other brokers. All from any thread.
struct OutsideTargets {
  /// Whether `target` is one; empty: none is.
  std::function<bool(const std::string& target)> covers{};
  std::function<Result<void>(const std::string& target)> check{};
  /// What became of each; empty: the target has it durably. An error: nothing was sent. What may
  /// have arrived is sent again, under the same id.
  std::function<Result<std::vector<std::optional<Error>>>(const std::string& target,
                                                          std::span<const Publication>, TimePoint)>
      send{};
  std::vector<std::string> strip{};  // headers that never go along; `*` stands for anything
};

/// Where messages can be sent, and by which rules they live. All from any thread.
struct ReplayTargets {
  /// Why nothing can be sent to a queue or executor of this name; ok if it can.
  std::function<Result<void>(const std::string& target)> check;
  /// All or none; ok once the target has them durably. A repeat (by `dedupe_id`) is dropped there.
  std::function<Result<void>(const std::string& target, std::span<const Publication>, TimePoint)>
      send;
  /// The profile a dead letter goes by, as it is configured now; empty: the built-in ones.
  std::function<Result<Profile>(const DeadLetter& record)> profile{};
  /// The executor that `exec:NAME` means; empty: there are none.
  std::function<Result<ReplayTarget>(const std::string& target)> executor{};
  /// Where what is planned from now on goes instead of its source; empty: nowhere else.
  std::function<std::vector<RedirectRule>()> redirects{};
  OutsideTargets outside{};
  /// For how long an executor takes, from an arbitrary beginning; empty: nobody measures it. A
  /// runner puts its clock here.
  std::function<std::chrono::nanoseconds()> ticks{};
};

/// Not_found, with those there are, if `target` is no executor.
[[nodiscard]] Result<ReplayTarget> executor_of(const ReplayTargets& targets,
                                               const std::string& target);

/// What of its profile matters to a dead letter that is sent back; the usual if there is none.
struct ReplayRules {
  std::optional<std::uint32_t> limit;
  ReplayCount count = ReplayCount::restart;
};
[[nodiscard]] ReplayRules rules_for(const ReplayTargets& targets, const DeadLetter& record);

/// The message as it goes out: its newest version, stamped with where it came from, counters as
/// its profile wants them, and an id by which a repeat of the same replay is known.
/// `record` counts this replay already.
[[nodiscard]] Publication replay_of(const RecordDetail& detail, const std::string& target,
                                    const ReplaySpec& spec, ReplayCount count, TimePoint now);

[[nodiscard]] bool is_outside(const ReplayTargets& targets, const std::string& target);

/// Whether one of `names` is this header's; ASCII case is ignored, `*` stands for anything.
[[nodiscard]] bool is_stripped(const Header& header, const std::vector<std::string>& names);

}  // namespace dlo
