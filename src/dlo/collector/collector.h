#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/collector/collecting_writer.h"
#include "dlo/core/decide.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/marks.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/suspects.h"
#include "dlo/store/office.h"

namespace dlo {

struct CollectorOptions {
  std::string name;    // for people
  std::string queue;   // the dead-letter queue it drains
  std::string source;  // what its dead letters are said to come from
  std::string origin;  // the queue in which everything there failed; empty: as its headers tell
  std::size_t batch = 256;                              // written to the office at once
  std::uint64_t batch_bytes = std::uint64_t{8} << 20U;  // ... or so much of it
};

enum class CollectorState : std::uint8_t {
  starting,     // it has not heard of its queue yet
  collecting,   // or would, if something were there
  broker_down,  // its queue cannot be read; it goes on by itself
  office_down,  // the office does not take what was read; it stays in its queue meanwhile
  stopped,
};
[[nodiscard]] std::string_view name_of(CollectorState state) noexcept;

struct CollectorStatus {
  CollectorState state = CollectorState::starting;
  std::uint64_t collected = 0;  // dead letters made of what it read, since the start
  std::uint64_t repeats = 0;    // read again: the office had them already
  std::uint64_t refused = 0;    // the office will not have them: they stay in their queue
  std::optional<TimePoint> last_at;
  std::string trouble;  // empty: none
};

/// Drains somebody else's dead-letter queue into the office: reads what its headers tell, decides
/// under which reason it is kept, writes many with one list, and only when they are durable takes
/// them out of their queue. Whatever fails in between leaves them there; what is handed out again
/// becomes no second record (CollectingWriter).
/// Threads  `start` and `stop` from one; the others from any.
class Collector {
 public:
  /// Told when its state changes for the worse or for the better, for the log.
  using Told = std::function<void(const CollectorStatus&)>;
  struct Parts {
    Broker& broker;
    Office& office;
    const Clock& clock;
    Origin origin;
    std::shared_ptr<const RuleBook> rules;
    Told told{};
  };

  Collector(CollectorOptions options, Parts parts);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void start();
  /// What was read and is not durable yet stays in its queue.
  void stop();

  /// From now on these rules decide.
  void use(std::shared_ptr<const RuleBook> rules);
  [[nodiscard]] CollectorStatus status() const;
  [[nodiscard]] const CollectorOptions& options() const noexcept { return options_; }

  /// One round: reads a batch, waiting for the first for at most `wait`, and keeps it. False: in
  /// vain, ask again later. Not while it is started.
  bool round(Millis wait, const std::stop_token& stop = {});

 private:
  struct Kept;
  struct Batch;
  void run(const std::stop_token& stop);
  void rest(Millis time, const std::stop_token& stop);
  [[nodiscard]] Result<std::vector<Delivery>> receive(Millis wait, const std::stop_token& stop);
  [[nodiscard]] static Batch batch_of(std::vector<Delivery> deliveries);
  /// As the other one, but what it read is still being written when it returns: `writing` then
  /// says how that went.
  bool round(std::future<bool>& writing, const std::stop_token& stop);
  bool wait_for(std::future<bool>& writing, std::span<const LeaseToken> held);
  bool after_nothing(const Result<std::vector<Delivery>>& received, const std::stop_token& stop);
  bool keep(Batch& batch, const std::stop_token& stop);
  Result<void> draw_up(std::span<Kept> batch, TimePoint now, std::vector<Change>& changes);
  Result<void> draw_up(Kept& kept, TimePoint now, std::vector<Change>& changes);
  Result<void> write(std::span<Kept> batch);
  Result<void> write(std::span<Kept> batch, std::vector<Change> changes, TimePoint now);
  Result<void> write_all(Batch& batch);
  Result<void> write_singly(std::span<Kept> batch);
  void settle(std::span<Kept> batch);
  void let_go(const Kept& kept, bool acknowledged, bool lost);
  void take_marks_off();
  void works();
  void became(CollectorState state, std::string trouble);

  const CollectorOptions options_;
  Broker& broker_;
  Office& office_;
  const Clock& clock_;
  const Told told_;
  collector::CollectingWriter writer_;
  Suspects suspects_;
  HandlerTable nobody_;
  Procedure procedure_;
  Marks marks_;
  std::size_t owed_ = 0;  // of those marks
  std::string refusal_;
  TimePoint refusal_until_{};

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::shared_ptr<const RuleBook> rules_;
  CollectorStatus status_;
  std::jthread thread_;
};

}  // namespace dlo
