#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "dlo/broker/broker.h"
#include "dlo/core/decide.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/events.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/options.h"
#include "dlo/engine/stats.h"
#include "dlo/engine/validator.h"
#include "dlo/engine/writer.h"
#include "dlo/store/office.h"

namespace dlo {

/// What a processor is made of. References outlive it.
struct ProcessorParts {
  Broker& source;
  Office& office;
  std::shared_ptr<const RuleBook> rules;
  HandlerTable handlers;
  const Clock& clock;
  Validators validators = {};
  EngineEvents* events = nullptr;
  DeathListener* listener = nullptr;
  RecordWriter* writer = nullptr;  // null: deaths are appended to the office
};

/// What was done with one message.
struct Processed {
  Decision decision;               // views live as long as the processor's rule book
  std::optional<RecordId> record;  // of a death or a wait, durable
};

/// How a stop went.
struct StopReport {
  std::size_t left_running = 0;    // still in their handlers; their leases run out
  std::size_t left_unsettled = 0;  // their ends could not be written in time; nothing is lost
  bool clean() const noexcept { return left_running == 0 && left_unsettled == 0; }
};

/// Takes messages from one source and carries out what the core decides about each (DESIGN 3):
/// fetch, look up repeats, pre-check, validate, mark the start, run, classify, decide, record,
/// settle. See engine/README.md for its threads.
/// Threads  Any method from any thread; at most one of `run` and `drain` at a time.
class Processor {
 public:
  Processor(ProcessorParts parts, ProcessorOptions options);
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// Works until `stop` is requested or `stop()` is called, then stops gracefully within
  /// `options.grace`, or what `stop()` asked for. Can be run again afterwards.
  StopReport run(std::stop_token stop);

  /// Stops `run`: fetches nothing more, gives back what has not begun, lets what runs finish for
  /// `grace`, commits everything. Costs no message an attempt (I8). Returns when `run` has ended.
  /// Called before the first `run` it ends that one at once, so that a program which starts a
  /// thread for it and thinks better of it is not left with a thread that never ends.
  StopReport stop(Millis grace);

  /// Processes on this thread what is there now, and returns how many deliveries that were. For
  /// programs without threads to spare and for tests: the same procedure without concurrency.
  std::size_t drain();

  /// The whole procedure for one message that the caller holds: nothing is settled anywhere, but a
  /// death or a wait in the office is durable when this returns. `counters` as they were before.
  /// An error: nothing is kept, and the caller still holds the message. The verdict RejectToCaller
  /// is for the caller too: its category is not stored, so there is no record.
  [[nodiscard]] Result<Processed> process_one(const MessagePtr& message, Counters counters = {});

  /// A failure that happened elsewhere: classified, decided, recorded. `counters` include the
  /// attempt that failed. Answers as `process_one` does.
  [[nodiscard]] Result<Processed> route_failure(const MessagePtr& message, Failure failure,
                                                Counters counters);

  /// Something outside has changed, a circuit was closed by hand: whoever fetches looks again.
  void look_again();

  [[nodiscard]] Classification classify(const Failure& failure) const;

  [[nodiscard]] ProcessorStats stats() const;

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace dlo
