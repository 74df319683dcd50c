#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/eager_broker.h"
#include "dlo/core/abandon.h"
#include "dlo/core/decide.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/handler_table.h"
#include "dlo/engine/held.h"
#include "dlo/engine/marks.h"
#include "dlo/engine/procedure.h"
#include "dlo/engine/suspects.h"
#include "dlo/engine/writer.h"
#include "dlo/store/office.h"

namespace dlo {

// How a worker ends what it was given.
struct PullCompleted {};
struct PullFailed {
  Failure failure;
};
struct PullReleased {};  // not begun: nothing is counted
struct PullCondemned {   // dead, because the worker says so (S0-36)
  std::string reason;
  std::string description;
};
using PullEnding =
    std::variant<PullCompleted, PullFailed, PullReleased, PullCondemned, AbandonOptions>;

struct PullSettlement {
  LeaseToken lease;
  PullEnding ending;
};

/// What became of it.
struct PullAnswer {
  enum class Fate : std::uint8_t { completed, retried, dead, released, lease_lost, dropped };
  Fate fate = Fate::completed;
  std::string reason;                          // of a death
  std::optional<RecordId> record;              // of a death or a wait in the office
  std::optional<TimePoint> next_at;            // of a retry
  std::optional<std::uint32_t> abandon_count;  // after an abandon
};
[[nodiscard]] std::string_view name_of(PullAnswer::Fate fate) noexcept;

/// Where workers elsewhere come for messages of one source and say how it went: the procedure of
/// DESIGN 3 with the handler in somebody else's hands. Receiving is the start (R1); what dies is
/// durable in the office before the source is settled (I1). Nothing here waits for messages and no
/// thread is bound to one that is out, so thousands can be.
/// Threads  Any method from any thread. Of several settlements of one lease exactly one counts.
class PullDesk {
 public:
  struct Parts {
    Broker& source;
    Office& office;
    std::shared_ptr<const RuleBook> rules;
    const Clock& clock;
    Origin origin;
    RecordWriter* writer = nullptr;  // null: deaths are appended to the office
    EagerBroker* eager = nullptr;    // the same source, if it can put off its wait for the disk
  };
  explicit PullDesk(Parts parts);

  struct Handed {
    LeaseToken lease;
    MessagePtr message;
    Counters counters;  // this start included
    TimePoint leased_until{};
    std::string last_error;
  };
  /// Up to `limit` messages that are to be run; may be fewer than there are. What must not run
  /// (expired, invalid, at its limit, known to the office) is dealt with here; if the office cannot
  /// take that, it goes back unrun, and no claim of it is counted, under no profile.
  [[nodiscard]] Result<std::vector<Handed>> receive(std::size_t limit, Millis lease_for);

  /// One answer each, in order. An error: nothing was settled, everything is still in the workers'
  /// hands; call again.
  [[nodiscard]] Result<std::vector<PullAnswer>> settle(std::vector<PullSettlement> settlements);
  /// The same, but for the source's own wait for its disk, if it can be put off: what is to be
  /// written to the office is. The desk must be there when somebody waits.
  Pending<std::vector<PullAnswer>> settle_soon(std::vector<PullSettlement> settlements);
  /// Whether the office may have to be waited for when these are settled.
  [[nodiscard]] bool needs_office(std::span<const PullSettlement> settlements);

  /// Answers which leases live.
  [[nodiscard]] Result<std::vector<bool>> renew(std::span<const LeaseToken> leases,
                                                Millis lease_for);

  /// To be called now and then: what has expired is dead, also if nobody receives and while the
  /// source is paused. True: that was much, and there may be more.
  bool bury_expired();

  /// To be called now and then: forgets leases that ran out, and takes off the mark
  /// `source_unsettled` of what died last (R3).
  void tidy();

  /// The process is about to stop: no worker can settle what he has any more, so all of it goes
  /// back as if nobody had had it. A stop that was asked for costs no attempt (I8).
  void give_all_back();

  [[nodiscard]] std::size_t held() const;

  /// From now on these rules decide; what is being decided is finished under the old ones.
  void use(std::shared_ptr<const RuleBook> rules);

 private:
  /// Rules and the procedure over them: changed together.
  struct Working {
    std::shared_ptr<const RuleBook> rules;
    Procedure procedure;
  };
  using WorkingPtr = std::shared_ptr<const Working>;
  struct Out {
    Item item;
    TimePoint started{};
    TimePoint until{};  // by the steady clock
  };
  using OutPtr = std::unique_ptr<Out>;
  struct EndOfLease {
    TimePoint operator()(const OutPtr& out) const { return out->until; }
  };
  struct Ended {  // on its way through record and settlement
    OutPtr out;
    Plan plan;
    std::size_t place = 0;         // of its answer
    std::uint32_t occurrence = 0;  // under which the office has it
  };

  struct Sorted {
    std::vector<OutPtr> ready;
    std::vector<Ended> ended;
    std::optional<Error> trouble;
  };

  [[nodiscard]] WorkingPtr working() const;
  [[nodiscard]] Sorted sort_out(const Working& with, std::vector<Delivery>& deliveries,
                                const Instant& now);
  [[nodiscard]] Result<std::vector<Handed>> hand_out(std::vector<OutPtr> ready, const Instant& now);
  [[nodiscard]] Plan plan_for(const Working& with, Out& out, PullEnding& ending, TimePoint now,
                              PullAnswer& answer);
  [[nodiscard]] Plan abandoned(const RuleBook& rules, Out& out, const AbandonOptions& options,
                               TimePoint now, PullAnswer& answer);
  [[nodiscard]] Plan condemn(const RuleBook& rules, Out& out, Decision decision, Failure failure,
                             TimePoint now, bool ran);
  [[nodiscard]] Result<void> record(std::vector<Ended>& ended, TimePoint now);
  [[nodiscard]] Result<std::vector<Applied>> apply_with_marks(std::vector<Change> changes);
  Pending<std::vector<SettleAnswer>> settle_source(const std::vector<Ended>& ended,
                                                   const Instant& now);
  void give_back(const std::vector<LeaseToken>& unrun, const Instant& now);
  struct Settling;
  [[nodiscard]] Result<std::vector<PullAnswer>> conclude(Settling& settling,
                                                         Result<std::vector<SettleAnswer>> settled);
  [[nodiscard]] Error take_up_again(Settling& settling, Error why);
  [[nodiscard]] Result<void> write(std::vector<Ended>& ended, std::vector<PullAnswer>* answers,
                                   const Instant& now);
  void close_books(const std::vector<Ended>& ended, const std::vector<SettleAnswer>& settled,
                   std::vector<PullAnswer>* answers, TimePoint now);
  [[nodiscard]] Result<void> finish_unrun(std::vector<Ended>& ended, const Instant& now);
  [[nodiscard]] Result<void> drop_lost(std::vector<Ended>& ended, std::vector<PullAnswer>* answers,
                                       const Instant& now);

  Parts parts_;
  AppendingWriter appending_;
  RecordWriter& writer_;
  Suspects suspects_;
  HandlerTable workers_;
  Marks marks_;
  std::mutex marks_mutex_;

  mutable std::mutex mutex_;
  WorkingPtr working_;
  Held<OutPtr, EndOfLease> out_;
};

}  // namespace dlo
