#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/events.h"
#include "dlo/engine/options.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/recorder.h"
#include "dlo/engine/scheduler.h"
#include "dlo/engine/settler.h"
#include "dlo/engine/slot.h"
#include "dlo/engine/stats.h"
#include "dlo/engine/status_board.h"

namespace dlo {

/// Random bits for jitter. Threads share it.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t roll() noexcept {
    std::uint64_t z = state_.fetch_add(0x9E3779B97F4A7C15ULL) + 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }

 private:
  std::atomic<std::uint64_t> state_;
};

/// The failure of an attempt that did not end in time.
[[nodiscard]] Failure timeout_failure(Millis timeout);
/// A refusal for good is an answer: the other side works. Only what may pass by itself says that
/// it does not, and a failure of the target itself (`says_target_failed`).
[[nodiscard]] bool is_answer(const Plan& plan, bool target_failed);

/// What one worker does with one chunk: prepare each, mark the starts together, run one after
/// another, pass on what became of them. How large a chunk may be follows the handlers' speed: a
/// fifth of a millisecond of work, so one at a time when they are slow.
/// Threads  Any method from any thread, one slot each.
class Workshop {
 public:
  struct Parts {
    Broker& broker;
    const Procedure& procedure;
    Scheduler& scheduler;
    Recorder& recorder;
    Settler& settler;
    Suspects& suspects;
    StatusBoard& board;
    ProcessorCounts& counts;
    EngineEvents* events;
    const Clock& clock;
    Dice& dice;
    Bell& bell;  // rung when a circuit moves, for whoever fetches
  };
  Workshop(Parts parts, const ProcessorOptions& options) : parts_(parts), options_(options) {}

  /// False: the thread was let go while it sat in a handler. It must touch nothing of ours.
  bool run_chunk(Slot& slot, std::vector<Item*>& chunk, bool exclusive);

  /// A handler that did not return in time: its attempt has failed.
  void timed_out(Item& item, TimePoint since, Millis timeout);

  /// All tries of one attempt. `item.running` counts its start; the slot has been entered.
  struct Tried {
    bool gone = false;     // the thread was let go
    bool settled = false;  // went well and is already among the slot's done
    Slot::StopCause cause = Slot::StopCause::none;
    Outcome outcome;
    std::optional<RecordId> record{};  // that it is a run of
  };
  [[nodiscard]] Tried run_tries(Slot& slot, const Item& item, TimePoint started, bool plain);

  /// What the circuit of its handler learns.
  void report(const Item& item, bool ok, TimePoint now);

  /// Gives one back as if it had never been taken, begun or not.
  void give_back(Item& item);
  /// Passes on to whoever carries it out.
  void carry_out(Item& item, Plan plan);

  /// What one message takes lately; zero before the first.
  [[nodiscard]] std::chrono::nanoseconds usual_time() const noexcept {
    return std::chrono::nanoseconds(usual_nanos_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t chunk_limit() const noexcept {
    return chunk_limit_.load(std::memory_order_relaxed);
  }

 private:
  void release(Item& item);
  void not_run(Item& item, TimePoint now);
  void prepare(std::vector<Item*>& chunk, bool exclusive, TimePoint now);
  bool prepare_one(Item& item, bool exclusive, TimePoint now);
  void mark_starts(std::vector<Item*>& chunk, TimePoint now);
  bool attempt(Slot& slot, Item& item, TimePoint started);
  void conclude(Item& item, Tried tried, TimePoint started, Millis timeout);
  void conclude_lost(Item& item, Tried tried, TimePoint started, TimePoint now);
  void reached_nobody(Item& item, TimePoint now);
  void fail(Item& item, Outcome outcome, TimePoint started, TimePoint now);
  void succeed(Item& item, TimePoint started, TimePoint now);
  void observe(std::chrono::nanoseconds took, std::size_t count);

  Parts parts_;
  const ProcessorOptions& options_;
  std::atomic<std::size_t> chunk_limit_{1};
  std::atomic<std::int64_t> usual_nanos_{0};
};

}  // namespace dlo
