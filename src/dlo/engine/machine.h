#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "dlo/engine/bell.h"
#include "dlo/engine/crew.h"
#include "dlo/engine/lease_keeper.h"
#include "dlo/engine/processor.h"
#include "dlo/engine/workshop.h"

namespace dlo {

/// The inside of a Processor: its parts, wired, and the loops that drive them.
struct Processor::Machine {
  Machine(ProcessorParts parts, ProcessorOptions chosen);

  StopReport run(std::stop_token stop);
  StopReport stop(Millis grace);
  std::size_t drain();
  Result<Processed> process_one(const MessagePtr& message, const Counters& counters);
  Result<Processed> route_failure(const MessagePtr& message, Failure failure,
                                  const Counters& counters);
  ProcessorStats stats() const;

  // Intake (machine_intake.cc).
  void intake_loop();
  /// Fetches once; answers how many came.
  std::size_t fetch(Millis wait);
  /// How many may be fetched now; 0: none, and `hold_until` says when to look again.
  std::size_t fetch_limit(TimePoint now, TimePoint& hold_until);
  std::size_t prefetch_limit() const;

  void keeper_loop();
  /// Until when nothing can need looking after, unless something is fetched.
  TimePoint keeper_rest(TimePoint now) const;
  void tick(const Instant& now);
  StopReport shut_down(TimePoint deadline);
  void release_all(const std::vector<Item*>& items);
  Result<Processed> keep(Item& item, Plan plan);
  Plan run_here(Item& item);

  const ProcessorOptions options;
  Broker& source;
  Office& office;
  std::shared_ptr<const RuleBook> rules;
  HandlerTable handlers;
  const Clock& clock;
  EngineEvents* events;
  DeathListener* listener;

  AppendingWriter appending;
  RecordWriter& writer;
  Suspects suspects;
  Procedure procedure;
  Bell bell;
  ItemPool pool;
  StatusBoard board;
  ProcessorCounts counts;
  Dice dice;
  Scheduler scheduler;
  Marks marks;
  Settler settler;
  Recorder recorder;
  Workshop workshop;
  Crew crew;
  LeaseKeeper leases;

  std::atomic<bool> fetching{false};
  std::atomic<bool> keeping{false};
  std::stop_source intake_stop;
  Bell keeper_bell;  // rung when there is something to look after
  Patience source_patience{Millis{100}, Millis{5'000}};
  std::vector<Item*> fetched;

  std::mutex mutex;
  std::condition_variable changed;
  bool running = false;
  bool ever_ran = false;
  bool stop_asked = false;
  std::optional<Millis> stop_grace;
  StopReport last_report;
};

}  // namespace dlo
