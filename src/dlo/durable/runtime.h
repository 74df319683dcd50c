#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/abandon.h"
#include "dlo/core/decide.h"
#include "dlo/core/result.h"
#include "dlo/engine/abandoning.h"
#include "dlo/engine/held.h"
#include "dlo/engine/writer.h"
#include "dlo/store/office.h"
#include "dlo/store/poison_book.h"

namespace dlo {

/// S3-39: these four names, exactly.
struct DurableStats {
  std::uint64_t orchestrator_queue = 0;
  std::uint64_t worker_queue = 0;
  std::uint64_t poison_orchestrator_count = 0;
  std::uint64_t poison_worker_count = 0;
  bool operator==(const DurableStats&) const = default;
};

/// What a durable runtime is told. Called after the record is durable and before the source is
/// settled, so a crash repeats the call: be idempotent by `owner`.
class OwnerHooks {
 public:
  virtual ~OwnerHooks() = default;
  /// The instance failed with this error (S3-28).
  virtual Result<void> fail_orchestration(const Owner& owner, const Poison& poison) = 0;
  /// A child failed: its parent is told (D17).
  virtual Result<void> notify_parent(const Owner& child, const Poison& poison) = 0;
  /// The activity is acknowledged as failed with this error (S3-29).
  virtual Result<void> fail_activity(const Owner& owner, const Poison& poison) = 0;
  /// Something went wrong that costs nothing but time, such as an abandon that failed: the lease
  /// runs out and the item comes back (S3-28).
  virtual void warn(const std::string& text) = 0;
};

/// Document 003 on the common seams: two queues, one office, and abandons that answer
/// Released or Poisoned. Every item has `Message::owner`.
/// Threads  Any method from any thread. Of several abandons of one token exactly one counts; the
///          others get lease_lost.
/// Order    record durable -> owner told -> source settled; any crash repeats a step, and the
///          deterministic id merges the repeat.
class DurableRuntime {
 public:
  struct Parts {
    Office& office;
    Broker& orchestrator_queue;
    Broker& worker_queue;
    std::shared_ptr<const RuleBook> rules;  // durable, durable+safe or durable-fetch
    OwnerHooks& hooks;
    std::string node = "local";
  };
  explicit DurableRuntime(Parts parts) : parts_(std::move(parts)), writer_(parts_.office) {}

  /// Leases items of one kind. What the profile's pre-check condemns (durable-fetch, or a crash
  /// loop under durable+safe) is poisoned here and not handed out; so is a repeat of an item that
  /// is already in the office. If the office cannot be asked all of them go back to the queue, and
  /// no claim of them is counted, under no profile: nothing ran. Neither is that of an item that is
  /// to be poisoned and that the office cannot take.
  Result<std::vector<Delivery>> fetch(PoisonKind kind, std::size_t limit, Millis lease_for,
                                      Instant now);

  /// The start mark: this item is about to be processed. What ends after it is an attempt, which
  /// its record has a row for. A second mark of one lease counts nothing.
  Result<void> start(PoisonKind kind, const LeaseToken& token, Instant now);

  /// Keeps an item that takes longer than its lease (R3-6). lease_lost: it is somebody else's now.
  Result<void> renew(PoisonKind kind, const LeaseToken& token, Millis lease_for, Instant now);

  Result<void> complete(PoisonKind kind, const LeaseToken& token, Instant now);

  /// S3-18, S3-19. The delay applies to both kinds.
  Result<AbandonResult> abandon(PoisonKind kind, const LeaseToken& token,
                                const AbandonOptions& options, Instant now);

  /// An item that lay in a buffer and was never processed: not counted, no error, even if its lease
  /// ran out there (S3-30). A lease that ran out stays counted under durable-fetch alone, which
  /// counts claims because a crash looks the same (R1).
  Result<void> return_unprocessed(PoisonKind kind, const LeaseToken& token, Instant now);

  // Management (S3-31..36). A backend without a poison book answers empty, none, false.
  Result<std::vector<PoisonItem>> list_poison(PoisonKind kind,
                                              const std::optional<std::string>& instance = {});
  Result<std::optional<PoisonDetail>> get_poison(PoisonKind kind, std::int64_t poison_id);
  /// Acknowledges and discards. False: there is no such item.
  Result<bool> remove_poison(PoisonKind kind, std::int64_t poison_id, TimePoint now);
  /// Back to its queue with the count reset; it may poison again. False: no such item.
  Result<bool> retry_poison(PoisonKind kind, std::int64_t poison_id, Instant now);

  Result<DurableStats> stats(Instant now);

 private:
  /// What is `replaying` under `lease` is published, and marked as sent.
  Result<bool> send_poison(PoisonKind kind, const RecordDetail& whole, const Counters& counters,
                           const std::optional<LeaseToken>& lease, Instant now);
  /// An item in somebody's hands.
  struct Out {
    Delivery delivery;                  // as at the claim
    std::optional<AbandonedRun> run{};  // since it was started
  };
  struct EndOfLease {
    TimePoint operator()(const Out& out) const { return out.delivery.steady_until; }
  };

  Broker& queue(PoisonKind kind) const noexcept;
  Result<void> keep_lease(PoisonKind kind, const Delivery& delivery, Instant now);
  Result<std::vector<std::optional<DeadLetter>>> known_records(
      const std::vector<Delivery>& deliveries);
  [[nodiscard]] Decision check_before_run(const Delivery& delivery) const;
  void give_back(PoisonKind kind, const std::vector<Delivery>& unrun, Instant now);
  void finish_repeat(PoisonKind kind, const Delivery& delivery, const DeadLetter& record,
                     Instant now);
  void condemn(PoisonKind kind, const Delivery& delivery, const Decision& decision, Instant now);
  Result<void> close_record(const Delivery& delivery, TimePoint now);
  void mark_settled(const SourceSettled& record);
  Result<void> settle(PoisonKind kind, const LeaseToken& token, Ending ending, Instant now);
  Result<AbandonResult> release(PoisonKind kind, const Out& out, const AbandonOptions& options,
                                const AbandonDecision& decision, Instant now);
  Result<void> poison_abandoned(PoisonKind kind, const Out& out, const AbandonOptions& options,
                                const AbandonDecision& decision, Instant now);
  Result<SourceSettled> keep(PoisonKind kind, const Delivery& delivery, DeadLetter record,
                             std::vector<Attempt> attempts, Instant now);
  Result<void> finish(PoisonKind kind, const Delivery& delivery, const SourceSettled& kept,
                      const Poison& value, Instant now);
  Result<void> tell_owner(PoisonKind kind, const Owner& owner, const Poison& poison);

  Parts parts_;
  AppendingWriter writer_;
  /// Whoever takes an item out is the only one who may settle it.
  Held<Out, EndOfLease> held_[2];
};

}  // namespace dlo
