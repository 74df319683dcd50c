#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/id.h"
#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// A message in somebody's hands until `leased_until`.
struct Delivery {
  LeaseToken lease;
  MessagePtr message;  // never null; of an undecodable item the payload is its raw bytes
  Counters counters;   // this claim is counted, its start is not yet
  TimePoint leased_until{};
  bool may_be_repeat = false;  // look it up in the office before running it (R2)
  bool interrupted = false;    // it was running when its process died or its lease ran out (R7)
  std::optional<Failure> undecodable;
  std::optional<TimePoint> first_attempt_at;
  Millis previous_delay{0};  // the wait before this delivery
  std::string last_error;
};

// How a delivery ends. Counts move here, where the message is (R6).
struct Completed {};
struct Failed {  // the attempt failed; come back at `again_at`
  TimePoint again_at{};
  Counters counters;  // as the core decided
  std::string error;
  Millis delay{0};
};
struct Abandoned {  // S3-18..20
  bool increment_count = false;
  TimePoint again_at{};
  std::string error;
};
struct ReleasedUnrun {};  // never started: the claim is given back, nothing else changes
struct DeadLettered {     // its record is durable in the office; gone from here
  bool hold_key = false;  // keep followers of its key back until free_key
};
using Ending = std::variant<Completed, Failed, Abandoned, ReleasedUnrun, DeadLettered>;

struct Settlement {
  LeaseToken lease;
  Ending ending;
};

enum class Settled : std::uint8_t { done, lease_lost };
struct SettleAnswer {
  Settled settled = Settled::done;
  std::uint32_t abandon_count = 0;  // after an abandon
};

struct ReceiveRequest {
  std::size_t limit = 1;
  Millis lease_for{30'000};
  Millis wait{0};  // long poll: return early as soon as something is there
};

struct Publication {
  MessagePtr message;
  Millis delay{0};
  std::string dedupe_id;  // within the source's window a second one is accepted and dropped
  Counters counters;      // carried over when a message is sent again (R6)
};

struct PublishAnswer {
  bool duplicate = false;
  std::optional<Position> position;  // where it stands, if places are stable
};

struct SourceStats {
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t leased = 0;
  std::uint64_t held = 0;  // behind the head of their key
  std::uint64_t published = 0;
  std::uint64_t completed = 0;
  std::uint64_t dead_lettered = 0;
  std::uint64_t expired = 0;
  std::optional<TimePoint> oldest;
};

/// One source of messages, with leases. tests/conformance/broker_suite.cc is this comment,
/// executable.
/// Threads  Any method from any thread, without outside locking.
/// Time     A broker owns no clock for decisions: `now` is the caller's. Only `wait` is real time.
/// Count    `fetch` rises with the claim, before the body is decoded; `attempt` with `start`.
///          A claim whose lease ends unstarted gives its count back, unless claims_count is set.
/// Order    Messages of one key are handed out one after another; a waiting, leased or held head
///          keeps back its own key only. Among heads: priority, then age.
/// Blocks   Never: an undecodable item is delivered as raw bytes with `undecodable` set.
/// Errors   Returned, never thrown. A stale or foreign token is an answer, not an error.
class Broker {
 public:
  virtual ~Broker() = default;

  /// Leases up to `limit` messages. Expired leases come back first. Empty is not an error.
  virtual Result<std::vector<Delivery>> receive(const ReceiveRequest& request, TimePoint now) = 0;

  /// The start mark (R1): handed to the kernel before this returns. Answers which leases live.
  virtual Result<std::vector<bool>> start(std::span<const LeaseToken> leases, TimePoint now) = 0;

  /// Ends leases. One answer per settlement, in order; a lost lease changes nothing.
  virtual Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                                   TimePoint now) = 0;

  virtual Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                          Millis lease_for) = 0;

  /// Durable (as this broker understands it) when it returns. All or none.
  virtual Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                                     TimePoint now) = 0;

  virtual Result<SourceStats> stats(TimePoint now) = 0;

  /// Wakes every waiting receive; later calls answer unavailable.
  virtual void close() noexcept = 0;
};

/// What some brokers let people do to a queue.
class QueueAdmin {
 public:
  virtual ~QueueAdmin() = default;
  virtual Result<void> pause() = 0;
  virtual Result<void> resume() = 0;
  virtual Result<std::uint64_t> purge() = 0;
  virtual Result<std::vector<MessagePtr>> peek(std::size_t limit) = 0;
  virtual Result<void> free_key(const std::string& key) = 0;
};

}  // namespace dlo
