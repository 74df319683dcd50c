#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "dlo/core/counters.h"
#include "dlo/core/failure.h"
#include "dlo/core/id.h"
#include "dlo/core/instant.h"
#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// A message in somebody's hands for a time.
struct Delivery {
  LeaseToken lease;
  MessagePtr message;          // never null; of an undecodable item the payload is its raw bytes
  Counters counters;           // this claim is counted, its start is not yet
  TimePoint leased_until{};    // what the wall clock will show, if nobody sets it
  TimePoint steady_until{};    // the same moment of the steady clock, by which it is judged
  bool may_be_repeat = false;  // look it up in the office before running it (R2)
  bool interrupted = false;    // it was running when its process died or its lease ran out (R7)
  bool expired = false;        // too old to run: dead-letter it (its expires_at has passed)
  std::uint32_t interruptions = 0;  // how often in a row, since an ending was last settled (R7)
  std::shared_ptr<const Failure> undecodable;  // why the body cannot be read; null: it can
  std::optional<TimePoint> first_attempt_at;
  Millis previous_delay{0};  // the wait before this delivery
  std::string last_error;
  std::string trail = {};  // what an ending left behind; opaque to a broker
};

// How a delivery ends. Counts move here, where the message is (R6).
struct Completed {};
struct Failed {  // the attempt failed; come back at `again_at`
  TimePoint again_at{};
  Counters counters;  // as the core decided
  std::string error;
  Millis delay{0};
  std::string trail = {};  // earlier attempts in brief: kept with the message, handed back with it
};
struct Abandoned {               // S3-18..20
  bool increment_count = false;  // false: never processed: claim and start are given back (R3-3)
  TimePoint again_at{};
  std::string error;                   // empty: the error it had is kept
  std::string trail = {};              // as in Failed; empty: the one it had is kept
  std::optional<Counters> counters{};  // of one that counts: as the core decided; empty: one more
};
/// What an abandon that counts makes of `counters`.
[[nodiscard]] inline Counters after_abandon(const Abandoned& ending, Counters counters) noexcept {
  if (ending.counters) return *ending.counters;
  counters.abandon += counters.abandon != UINT32_MAX;
  return counters;
}
struct ReleasedUnrun {};   // never ran: the claim and, if marked, the start are given back
struct DeadLettered {      // its record is durable in the office; gone from here
  bool hold_key = false;   // keep followers of its key back until free_key; SourceOptions::on_death
                           // says so of every death of a source
  std::string error = {};  // what it died of, for a queue that has a dead set of its own
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
  Millis lease_for{30'000};          // at least 1 ms
  Millis wait{0};                    // long poll: return early as soon as something is there
  std::uint64_t bytes = UINT64_MAX;  // enough once messages of this size are out, or one
  std::stop_token stop{};            // a source that waits long returns when this is requested
  bool expired_only = false;         // never waits, and a paused source answers, too
};

struct Publication {
  MessagePtr message;
  Millis delay{0};
  std::string dedupe_id;  // within the source's window a second one is accepted and dropped
  Counters counters;      // carried over when a message is sent again (R6)
  /// It died here and is sent again: if a death holds its key, it goes past that hold, out of the
  /// order of its key, and the others wait on.
  bool past_hold = false;
  /// Its id never means another message: a queue remembers it for longer.
  bool replay = false;
};

struct PublishAnswer {
  bool duplicate = false;
  std::optional<Position> position;  // where it (or what it repeats) stands, if places are stable
};

/// Books: published = completed + dead_lettered + expired + purged + ready + delayed + leased +
/// held.
struct SourceStats {
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t leased = 0;
  std::uint64_t held = 0;       // behind the head of their key, or behind a held key
  std::uint64_t published = 0;  // duplicates left out
  std::uint64_t completed = 0;
  std::uint64_t dead_lettered = 0;
  std::uint64_t expired = 0;  // dropped for age, where the source is set to do so (R8)
  std::uint64_t purged = 0;
  std::uint64_t bytes = 0;          // of everything that is here
  std::optional<TimePoint> oldest;  // enqueued_at of what came to this source first
  double in_per_second = 0;         // published, over the last ten seconds; since it was opened
  double out_per_second = 0;        // completed and dead-lettered, likewise
  bool paused = false;
  std::string trouble;  // what the operator should look after; empty: all is well
};

class QueueAdmin;

/// One source of messages, with leases. tests/conformance/broker/broker_suite.cc is this comment,
/// executable.
/// Threads  Any method from any thread, without outside locking.
/// Time     A broker owns no clock for decisions: `now` is the caller's, and all callers share one
///          clock. Only `wait` is real time: a long poll that waited t decides as of `now + t`.
///          Expiry is a moment of its wall clock. Delays and leases are so much of its steady time:
///          setting the wall clock neither ends nor extends one (a delay by no more than a
///          second). Where both go back, what was ready stays ready and nothing is freed early;
///          what waits is freed when they get there again, so at most the length of the jump later.
/// Count    `fetch` rises with the claim, before the body is decoded; `attempt` with `start`.
///          A claim whose lease ends unstarted gives its count back, unless claims_count is set.
/// Order    Messages of one key are handed out one after another, in the order of publication; a
///          waiting, leased or held head keeps back its own key only. Interrupted ones come first
///          (R7). Then priority, and within it who has been ready longest; whoever waits long
///          enough passes a higher priority, and whoever comes back goes to the end, so neither
///          low ones nor those behind a failing one starve (I10). The next of a key is ready since
///          the one before it left, so keys take turns however long one of them is.
/// Age      A message past its `expires_at` is handed out with `expired` set, for the engine to
///          dead-letter, or dropped and counted where the source is set to do so (R8). Delays end
///          at `expires_at`. Nobody has to receive for that: what is to be dropped is gone, within
///          about a second, when a full source would refuse and when somebody asks for `stats`;
///          the rest is fetched with `expired_only`, past whoever is ahead of it, also while the
///          source is paused. Who waits behind its key expires when its turn comes.
/// Blocks   Never: an undecodable item is delivered as raw bytes with `undecodable` set.
/// Errors   Returned, never thrown. A stale or foreign token is an answer, not an error.
class Broker {
 public:
  virtual ~Broker() = default;

  /// Leases up to `limit` messages. Leases that ran out are free again first. Empty is not an
  /// error.
  virtual Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) = 0;

  /// The start mark (R1): handed to the kernel before this returns. Answers which leases live.
  /// A second mark of one lease counts nothing.
  virtual Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) = 0;

  /// Ends leases. One answer per settlement, in order; a lost lease changes nothing.
  virtual Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                                   Instant now) = 0;

  /// Live leases last until `now + lease_for`. Answers which leases live.
  virtual Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                          Millis lease_for) = 0;

  /// Durable (as this broker understands it) when it returns. All or none; `full` if there is no
  /// room, never a silent drop. What is delivered carries this source's name and position.
  virtual Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                                     Instant now) = 0;

  virtual Result<SourceStats> stats(Instant now) = 0;

  /// Null where a broker has nothing of the kind.
  virtual QueueAdmin* admin() noexcept { return nullptr; }

  /// Wakes every waiting receive; later calls answer unavailable.
  virtual void close() noexcept = 0;
};

/// What a death does to the others of its key.
struct KeyHold {
  bool held = false;
  std::uint64_t waiting = 0;  // of them; beyond `most_counted` nobody counts on
  static constexpr std::uint64_t most_counted = 10'000;
};

/// What some brokers let people do to a queue. It is as late as the last call of Broker said.
class QueueAdmin {
 public:
  virtual ~QueueAdmin() = default;
  /// Nothing is handed out until `resume`. Publishing, settling and leases go on.
  virtual Result<void> pause() = 0;
  virtual Result<void> resume() = 0;
  /// Removes everything nobody has leased; answers how much.
  virtual Result<std::uint64_t> purge() = 0;
  /// Up to `limit` messages nobody has leased, oldest publication first. Changes nothing.
  virtual Result<std::vector<MessagePtr>> peek(std::size_t limit) = 0;
  /// Ends the hold that a death put on `key`; its followers go on in order.
  virtual Result<void> free_key(const std::string& key) = 0;
  /// Up to `limit` of the keys that a death holds and behind which somebody waits, after `skip` of
  /// them, in no particular order. None where no death holds a key.
  virtual Result<std::vector<std::string>> held_keys(std::size_t /*skip*/, std::size_t /*limit*/) {
    return std::vector<std::string>();
  }
  virtual Result<KeyHold> hold_on(const std::string& /*key*/) { return KeyHold{}; }
};

}  // namespace dlo
