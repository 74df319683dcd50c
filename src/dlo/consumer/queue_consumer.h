#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/consumer/consumer_status.h"
#include "dlo/consumer/dead_letter_copies.h"
#include "dlo/consumer/line_events.h"
#include "dlo/core/decide.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/due_timer.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/record.h"
#include "dlo/engine/validator.h"
#include "dlo/store/office.h"

namespace dlo {

struct ConsumerOptions {
  std::string source;  // the name its messages carry
  Origin origin{};
  std::size_t at_once = 8;    // runs at the same time
  std::size_t in_flight = 0;  // so many its queue hands out before it hears of them; 0: any number
  Millis timeout{0};          // of one run; 0: none
  Millis lease_for{30'000};
  Millis grace{10'000};    // for what runs when it is stopped or paused
  std::uint64_t seed = 0;  // of jitter; 0: drawn
};

/// A queue of another broker whose messages are handled here: fetched, run, and if that fails run
/// again as its rules say, until they are done or dead. What has to wait waits in the office and
/// runs from there (R6): nothing is sent back to make it wait. Whatever fails on the way, a message
/// is in its queue, in the office, or both, and both are one. Threads  `start` and `stop` from one;
/// the others from any.
class QueueConsumer {
 public:
  struct Parts {
    std::function<Result<std::unique_ptr<Broker>>()> open;  // its queue, each time it goes on
    Office& office;
    DueTimer& timer;  // told of everything that is scheduled in the office
    const Clock& clock;
    HandlerTable handlers;
    Validators validators{};
    std::shared_ptr<const RuleBook> rules;
    SendCopies copies{};  // to its dead-letter queue; empty: the office alone has what died
    consumer::CopyForm form{};
    /// Told when its state changes for the worse or for the better, for the log.
    std::function<void(const ConsumerStatus&)> told{};
    consumer::Log log{};
    consumer::SayDone done{};  // empty: of what goes well nothing is said
  };

  QueueConsumer(ConsumerOptions options, Parts parts);
  ~QueueConsumer();
  QueueConsumer(const QueueConsumer&) = delete;
  QueueConsumer& operator=(const QueueConsumer&) = delete;

  /// Refused if the office cannot say which copies it owes.
  Result<void> start(bool paused);
  /// What has not begun goes back, what runs has `grace` to finish: nothing costs an attempt (I8).
  void stop();
  /// The beginning of `stop`, for who stops several.
  void ask_to_stop();
  /// Its connection is closed and others may have its messages; what waits in the office stays
  /// there.
  void pause(bool paused);

  /// Copies that were owed at the last call already are sent: whoever owed them, another program on
  /// this office perhaps, is gone. For one of several, once in a while.
  void look_for_owed();

  /// From now on these rules decide.
  void use(std::shared_ptr<const RuleBook> rules);
  [[nodiscard]] ConsumerStatus status() const;
  [[nodiscard]] const std::string& source() const noexcept { return options_.source; }

 private:
  struct Lines;
  void run();
  /// False: not yet.
  bool open_lines();
  bool close_lines();
  void send_owed(const std::stop_token& stop);
  [[nodiscard]] Result<std::vector<RecordId>> all_owed() const;
  void begin_sending(std::vector<RecordId> owed);  // under `owing_mutex_`
  [[nodiscard]] std::shared_ptr<const RuleBook> rules() const;
  void changed();
  [[nodiscard]] ConsumerState state_now(const consumer::Troubles::Seen& seen) const;
  [[nodiscard]] ConsumerStatus standing() const;

  const ConsumerOptions options_;
  Parts parts_;
  consumer::Troubles troubles_;
  std::unique_ptr<DeadLetterCopies> copies_;
  std::mutex owing_mutex_;
  bool stopped_owing_ = false;
  std::set<RecordId> seen_owed_;  // by the last look
  std::vector<RecordId> owed_;    // of `owing_`, while it sends
  std::atomic<bool> sending_owed_{false};

  mutable std::mutex mutex_;
  std::condition_variable moved_;
  std::shared_ptr<const RuleBook> rules_;
  bool wants_pause_ = false;
  bool stopping_ = false;
  bool running_ = false;          // its lines are open
  std::shared_ptr<Lines> lines_;  // null: paused or stopped
  ConsumerStatus past_;           // what lines before these have done
  ConsumerState told_ = ConsumerState::starting;
  std::optional<Error> open_error_;
  std::thread thread_;
  std::jthread owing_;
};

}  // namespace dlo
