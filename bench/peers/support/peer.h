#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "peers/support/bodies.h"
#include "peers/support/budget.h"

namespace dlo::peers {

/// How messages are put in: so many callers, each with so many unanswered at a time.
struct Callers {
  int count = 1;
  int outstanding = 1;
};

/// How messages are taken out: by one consumer in the batches that suit the queue best, or by so
/// many workers, each with one message at a time.
enum class Consumers { one_in_batches, many_one_by_one };
constexpr int workers = 32;

/// What becomes of a leased message. A retry is put off by `retry_delay`, longer than any run, so
/// that none comes back while it is measured.
enum class Fate { done, retry, dead };
constexpr auto retry_delay = std::chrono::seconds{600};

/// What the queue itself says it holds.
struct Tally {
  long ready = 0;
  long delayed = 0;
  long dead = 0;
  bool operator==(const Tally&) const = default;
};

/// A queue under measurement. Made on an empty server or folder and used for one workload, so
/// message numbers start at 0. A failure ends the program (failure.h).
class Peer {
 public:
  virtual ~Peer() = default;

  /// Puts in what `budget` gives; returns when all of it is acknowledged as the peer understands
  /// it.
  virtual Measured enqueue(Callers callers, Budget& budget) = 0;

  /// Leases what `budget` gives, hands each body to `receipts`, and ends each lease with `fate`;
  /// returns when every one of these is acknowledged. There are enough messages ready for that.
  virtual Measured settle(Consumers consumers, Fate fate, Budget& budget, Receipts& receipts) = 0;

  /// Makes every dead message ready again.
  virtual Measured redrive() = 0;

  /// Whether end_to_end() works.
  [[nodiscard]] virtual bool can_push() const { return true; }

  /// Sends at `pace` while one consumer waits for messages, hands each to `receipts` and completes
  /// it. The latencies are from when a message was due to be sent to when its consumer had it.
  virtual Measured end_to_end(Pace& pace, Receipts& receipts) = 0;

  /// Asks the queue what it holds.
  virtual Tally tally() = 0;
};

/// Makes a peer from where its server listens or its files go.
using MakePeer = std::function<std::unique_ptr<Peer>(const std::string& where, const Bodies&)>;

/// main() of a peer: PROGRAM WORKLOAD MESSAGES BODY_SIZE WHERE [SECONDS]. Prepares and runs the
/// workload, compares the peer's own count with ours, prints `WORKLOAD RATE P99_MS`.
int run_peer(int argc, char** argv, const MakePeer& make);

/// `where` as a port of this machine.
[[nodiscard]] int port_of(const std::string& where);

}  // namespace dlo::peers
