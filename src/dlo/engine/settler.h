#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/content_claims.h"
#include "dlo/engine/events.h"
#include "dlo/engine/item.h"
#include "dlo/engine/marks.h"
#include "dlo/engine/pace.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/stats.h"
#include "dlo/engine/status_board.h"

namespace dlo {

/// The last step: ends leases at the source, in batches of whatever gathered meanwhile. Whatever
/// had to be durable is durable before it comes here (I1). A source that cannot be reached is asked
/// again with patience; an item whose lease was lost is never settled by us. Under load it gathers
/// for half a millisecond, so that workers need not wake it for every message; what others wait for
/// because they share its key is settled at once.
/// Threads  `push` from any thread; `flush` from one.
class Settler {
 public:
  struct Entry {
    Item* item = nullptr;
    Plan::Kind kind = Plan::Kind::complete;
    Ending ending;
    std::optional<SourceSettled> mark = {};  // its record is still marked source_unsettled
    std::optional<RecordId> stand_in = {};   // its record, if only its content tells
  };

  Settler(Broker& broker, ItemPool& pool, Marks& marks, ProcessorCounts& counts, StatusBoard& board,
          EngineEvents* events, const Clock& clock, ContentClaims* claims)
      : broker_(broker),
        pool_(pool),
        marks_(marks),
        counts_(counts),
        board_(board),
        events_(events),
        clock_(clock),
        claims_(claims) {}

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

 private:
  void wake_if_needed(bool urgent);
  void gather(std::unique_lock<std::mutex>& lock);
  void answer(std::size_t place, const SettleAnswer& answer);
  void forget_lost();
  void comes_again(const Entry& entry);

  Broker& broker_;
  ItemPool& pool_;
  Marks& marks_;
  ProcessorCounts& counts_;
  StatusBoard& board_;
  EngineEvents* events_;
  const Clock& clock_;
  ContentClaims* const claims_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool sleeping_ = false;
  bool urgent_ = false;  // somebody waits behind the key of one that is here
  bool stopping_ = false;
  bool busy_ = false;
  TimePoint deadline_{};
  std::vector<Item*> completed_in_;
  std::vector<Entry> entries_in_;

  // Owned by whoever flushes.
  Pace pace_{std::chrono::microseconds{500}};
  std::vector<Item*> completed_;
  std::vector<Entry> entries_;
  std::vector<Settlement> settlements_;
  std::vector<Item*> ended_;
};

}  // namespace dlo
