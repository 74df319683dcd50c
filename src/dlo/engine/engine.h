#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "dlo/engine/office_source.h"
#include "dlo/engine/processor.h"

namespace dlo {

/// How one source is handled.
struct HandleOptions {
  std::string source;  // the name its messages carry; needed for those that wait in the office
  std::string profile = std::string(default_profile_name);
  std::shared_ptr<const RuleBook> rules;  // instead of `profile`
  HandlerOptions handler;
  Validators validators;
  DeathListener* listener = nullptr;
  EngineEvents* events = nullptr;
  ProcessorOptions processor;
};

/// An office and everything that is handled for it, in a few lines:
///
///   MemoryOffice office;  MemoryBroker orders;
///   Engine engine(office);
///   engine.handle(orders, [](const Message& m) { charge(m); });
///   engine.run(stop);
///
/// Each source gets a processor, and a second one for its messages that wait in the office. All run
/// side by side; a source that stands still holds up no other.
/// Threads  `handle` before `run`; `run` once at a time; `stop` and `stats` from any thread.
class Engine {
 public:
  /// `clock` null: the machine's.
  explicit Engine(Office& office, const Clock* clock = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Refuses an unknown profile with the valid names, and one whose messages wait in the office
  /// where no source is named: nobody would find them there. Returning is success, throwing is
  /// failure.
  Result<void> handle(Broker& source, std::function<void(const Message&)> function,
                      HandleOptions options = {});
  /// Any handler; several event types of one source go into one table.
  Result<void> handle(Broker& source, HandlerTable handlers, HandleOptions options = {});

  StopReport run(std::stop_token stop);
  StopReport stop(Millis grace);
  /// On this thread, what is due now; answers how many deliveries that were.
  std::size_t drain();

  struct SourceReport {
    std::string source;
    bool waiting_in_office = false;
    ProcessorStats stats;
  };
  [[nodiscard]] std::vector<SourceReport> stats() const;

 private:
  struct Line;
  StopReport ask_all(const std::function<StopReport(Processor&)>& question);

  Office& office_;
  std::unique_ptr<Clock> own_clock_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Line>> lines_;
};

}  // namespace dlo
