#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/states.h"

namespace dlo {

/// What people do to dead letters, one by one or in bulk.
enum class Act : std::uint8_t {
  resolve,
  archive,
  discard,
  restore,
  retry,
  tag,
  repair,
  regroup,
  quarantine,  // nothing automatic touches it, and a replay only if it is asked for by name (R9)
};
[[nodiscard]] std::string_view name_of(Act act) noexcept;
[[nodiscard]] std::optional<Act> parse_act(std::string_view text) noexcept;

/// Whether an act (`replay` as well) on many that are chosen without naming a status is about the
/// open ones: what is closed stays as it is. Only a restore is about that.
[[nodiscard]] bool is_about_open(std::string_view act) noexcept;

/// Where an act leads; a restore leads to the status the record had before it was closed, and what
/// only changes a record (tag, repair, regroup) leaves it where it is.
[[nodiscard]] Status target_of(Act act, Status former) noexcept;

/// Whether an act can be done to a record in this status: not to a live message, not twice, and
/// only an ended one can be restored.
[[nodiscard]] bool is_possible(Act act, Status status) noexcept;

/// Whether what a dead letter says may be changed: nobody works on it, and it was not sent back.
[[nodiscard]] bool is_editable(Status status) noexcept;

/// Whether a dead letter in this status may be sent back: one that waits for nobody. Quarantined
/// ones only by a deliberate act (R9), and so those that were sent and whose outcome is awaited
/// (`again`): whoever says so has given up waiting.
[[nodiscard]] bool is_replayable(Status status, bool quarantined_too, bool again = false) noexcept;

/// Whoever does something to many at once says how many they believe there are (S2-23). Conflict,
/// with the true number, if they are wrong.
[[nodiscard]] Result<void> check_count(std::uint64_t there, std::uint64_t expected);

/// How a dead letter was resolved of which somebody said that it worked after it was sent back: our
/// processor, or whoever reports it.
inline constexpr std::string_view how_replayed = "replayed";
inline constexpr std::string_view how_retried = "retried";  // ... or an executor ran it
/// ... of which nobody said anything: it was sent, and did not come back.
inline constexpr std::string_view how_republished = "republished";

/// Whether a record in this status, resolved in this way, was sent back: what dies now under its id
/// may be what was sent, whatever it says of itself.
[[nodiscard]] bool was_sent_back(Status status, std::string_view how) noexcept;

/// What became of a record that was sent back, as far as is known (R24). That nothing came back in
/// time is presumed by whoever waited.
enum class SentOutcome : std::uint8_t {
  awaited,
  verified,    // somebody said that it worked
  returned,    // it died again
  taken_over,  // a person resolved, discarded or sent it otherwise: that says nothing of the fix
};
[[nodiscard]] SentOutcome outcome_of_sent(bool died_again, Status status,
                                          std::string_view how) noexcept;

/// A dead letter as it was when somebody asked for a retry of it.
struct AskedRetry {
  std::uint32_t failures = 0;  // Counters::failure
  std::uint32_t occurrence = 1;
  bool operator==(const AskedRetry&) const = default;
};
/// What came of that retry (S2-21), as far as the record says by now.
enum class RetryOutcome : std::uint8_t {
  awaited,
  worked,
  failed,      // also if it waits for the next one, or runs again
  taken_over,  // a person closed it or sent it elsewhere first: nobody knows
};
[[nodiscard]] std::string_view name_of(RetryOutcome outcome) noexcept;
/// `now`: the same numbers of the record as it is; `how` it was resolved, if it was.
[[nodiscard]] RetryOutcome outcome_of_retry(const AskedRetry& asked, const AskedRetry& now,
                                            Status status, std::string_view how) noexcept;

/// How often one message may be sent back: what was asked for, else its profile's limit, else ten.
[[nodiscard]] std::uint32_t replay_limit(std::optional<std::uint32_t> asked,
                                         std::optional<std::uint32_t> of_profile) noexcept;

}  // namespace dlo
