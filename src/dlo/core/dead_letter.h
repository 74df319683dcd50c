#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/fingerprint.h"
#include "dlo/core/id.h"
#include "dlo/core/message.h"
#include "dlo/core/states.h"
#include "dlo/core/time.h"

namespace dlo {

/// How a record was closed.
struct Resolution {
  TimePoint at{};
  std::string by;
  std::string how;  // "manual", "republished", "retried", ...
  std::string notes;
  bool operator==(const Resolution&) const = default;
};

/// One start of a handler, as remembered. Rows of their own, newest kept (see attempts_kept).
struct Attempt {
  std::uint32_t number = 0;  // Counters::total at the start
  TimePoint started_at{};
  Millis took{0};
  OutcomeKind outcome = OutcomeKind::failed;
  std::string category;
  std::string rule;
  std::string error_type;
  std::string error_text;
  Millis next_delay{0};  // the wait that was decided; zero if none
  std::string node;
  bool operator==(const Attempt&) const = default;
};

/// How many attempts of one record are kept: the first and the newest ones.
inline constexpr std::size_t attempts_kept = 50;

/// The durable record of a message that failed for good, or that waits in the office.
struct DeadLetter {
  RecordId id;
  std::uint32_t occurrence = 1;
  MessagePtr message;  // never null
  std::string profile;
  Status status = Status::pending;
  std::string reason;
  std::string description;
  std::string category;
  std::string rule;
  Failure failure;  // redacted
  Fingerprint fingerprint;
  Counters counters;
  std::uint32_t limit = 0;
  std::string policy;  // print(RetryPolicy)
  std::optional<TimePoint> first_attempt_at;
  std::optional<TimePoint> first_failed_at;
  std::optional<TimePoint> last_failed_at;
  TimePoint died_at{};  // for a waiting record: when it was parked
  std::optional<TimePoint> next_retry_at;
  std::optional<TimePoint> expires_at;
  std::string handler;
  std::string node;
  std::string build;
  std::string metadata;  // JSON text, kept as given
  std::vector<RecordId> depends_on;
  std::vector<std::string> tags;
  std::optional<Resolution> resolution;
  bool source_unsettled = false;  // durable here, not yet confirmed gone from its source (R3)

  // Assigned by the store.
  std::uint64_t version = 0;  // raised by every change; the compare-and-set expects it
  std::uint64_t change = 0;   // the office-wide number of its last change (R23)
  std::int64_t number = 0;    // its place in the office: immutable, grows with arrival (gaps)
  bool died = false;          // became a dead letter in this occurrence, instead of only waiting
};

using DeadLetterPtr = std::shared_ptr<const DeadLetter>;

}  // namespace dlo
