#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/events.h"
#include "dlo/engine/item.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/stats.h"
#include "dlo/engine/status_board.h"

namespace dlo {

/// The last step: ends leases at the source, in batches of whatever gathered meanwhile. Whatever
/// had to be durable is durable before it comes here (I1). A source that cannot be reached is asked
/// again with patience; an item whose lease was lost is never settled by us.
/// Threads  `push` from any thread; `flush` from one.
class Settler {
 public:
  struct Entry {
    Item* item = nullptr;
    Plan::Kind kind = Plan::Kind::complete;
    Ending ending;
    DeadLetterPtr unsettled = {};  // its record, still marked source_unsettled
    std::uint64_t version = 0;     // of that record
  };

  Settler(Broker& broker, ItemPool& pool, ProcessorCounts& counts, StatusBoard& board,
          EngineEvents* events, const Clock& clock)
      : broker_(broker),
        pool_(pool),
        counts_(counts),
        board_(board),
        events_(events),
        clock_(clock) {}

  /// Ran well, nothing to write: the happy path.
  void push_completed(std::span<Item* const> items);
  void push(Entry entry);
  void push(std::vector<Entry>&& entries);

  /// Settles what is there. False: the source failed; what was there is kept.
  bool flush();
  /// Flushes until `stop()`, and then until all is settled or `deadline`.
  void run();
  void stop(TimePoint deadline);
  void restart();

  [[nodiscard]] bool idle() const;

  /// Records whose source has confirmed since the last call: their mark can go (R3).
  struct Confirmed {
    DeadLetterPtr record;
    std::uint64_t version = 0;
  };
  void take_confirmed(std::vector<Confirmed>& out);

 private:
  void answer(std::size_t place, const SettleAnswer& answer);
  void forget_lost();

  Broker& broker_;
  ItemPool& pool_;
  ProcessorCounts& counts_;
  StatusBoard& board_;
  EngineEvents* events_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool sleeping_ = false;
  bool stopping_ = false;
  bool busy_ = false;
  TimePoint deadline_{};
  std::vector<Item*> completed_in_;
  std::vector<Entry> entries_in_;
  std::vector<Confirmed> confirmed_;

  // Owned by whoever flushes.
  std::vector<Item*> completed_;
  std::vector<Entry> entries_;
  std::vector<Settlement> settlements_;
  std::vector<Item*> ended_;
};

}  // namespace dlo
