#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/decide.h"
#include "dlo/engine/due_timer.h"
#include "dlo/engine/put_off.h"
#include "dlo/engine/writer.h"
#include "dlo/store/office.h"

namespace dlo {

/// Messages that wait in the office, as a source: due records run through the very same processor
/// as everything else (R6). Waiting ones are live messages; dead letters whose retry is due are
/// `retrying` meanwhile. Start marks, outcomes and attempts are written to the record, under its
/// lease; a record whose last start has no attempt to show for it was interrupted, and the next
/// start writes that attempt down, so each interruption is found once.
///
/// Office and source are one here, so writing the end of a run is settling it: `settle` has nothing
/// left to do for what `write` has moved.
/// Threads  As Broker.
class OfficeSource final : public Broker, public RecordWriter {
 public:
  /// By which rules a record goes on; null: by those of the processor.
  using RulesFor = std::function<std::shared_ptr<const RuleBook>(const DeadLetter&)>;
  struct Options {
    ClaimFrom from{};
    std::function<std::vector<std::string>()> without{};  // asked each time, for `from.without`
    RulesFor rules{};
    DueTimer* timer = nullptr;  // null: the office is asked whenever somebody wants messages
    /// False: workers take from it, who give back unrun until when they please.
    bool has_circuits = true;
  };

  /// Due records of `source`; empty: of every source.
  OfficeSource(Office& office, std::string source)
      : OfficeSource(office, Options{ClaimFrom(std::move(source)), {}, {}, nullptr}) {}
  OfficeSource(Office& office, Options options)
      : office_(office), options_(std::move(options)), put_off_(options_.from.source) {}

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override;
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override;
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override;
  /// Refused: messages come here by failing, not by being sent.
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override;
  Result<SourceStats> stats(Instant now) override;
  void close() noexcept override;

  Result<std::optional<DeadLetter>> find_repeat(const Delivery& delivery) override;
  Result<void> name(const Delivery& delivery, DeadLetter& record) override;
  void write(const Delivery& delivery, const DeadLetterPtr& record, std::vector<Attempt> attempts,
             TimePoint now, std::vector<Change>& out) override;
  [[nodiscard]] std::shared_ptr<const RuleBook> rules(const Delivery& delivery) override;
  [[nodiscard]] std::optional<KnownRecord> record_of(const Delivery& delivery) override;
  void overruled(const RecordId& id, std::vector<Attempt> attempts, TimePoint now) override;
  /// What was given back because a circuit was open is due: whoever fetches next lets it come, some
  /// at a time.
  void circuit_closed() override;
  [[nodiscard]] bool is_office() const noexcept override { return true; }

 private:
  struct Held {
    RecordId id;
    std::uint32_t occurrence = 1;
    Status status = Status::waiting;  // while it is leased
    Status home = Status::waiting;    // where it returns to
    Counters counters;
    TimePoint until{};
    std::uint32_t told = 0;  // the last start whose end is written down
    std::string node{};      // who wrote the record last
    std::optional<TimePoint> started_at{};
    std::shared_ptr<const RuleBook> rules{};
    std::string metadata{};
    std::uint64_t calls = 0;     // of `put_off_` when it was claimed
    bool says_category = false;  // its reason is no more than its category
    bool waited = false;         // its reason is that it waits for others, and now it runs
    std::string category{};
  };
  [[nodiscard]] ClaimFrom from() const;
  void wait_for_work(const ReceiveRequest& request, TimePoint now);
  void bring_called(TimePoint now);
  [[nodiscard]] Transition start_mark(const LeaseToken& lease, const Held& held,
                                      TimePoint now) const;
  void started(const Transition& mark);
  Result<std::vector<Delivery>> claim(const ReceiveRequest& request, const Instant& now);
  [[nodiscard]] Held held_of(const Claim& claim) const;
  Result<void> read_on(const Claim& claim, Delivery& delivery, Held& held);
  std::optional<Held> held(const LeaseToken& lease) const;
  [[nodiscard]] static Counters unclaimed(const Held& held);
  [[nodiscard]] Transition ending_of(const Held& held, const Settlement& settlement,
                                     TimePoint now) const;
  std::uint32_t put_ending(const Held& held, const Settlement& settlement, TimePoint now,
                           std::vector<Change>& out) const;
  [[nodiscard]] bool is_put_off(const Abandoned& ending) const;
  [[nodiscard]] std::optional<PutOff::Note> note_put_off(std::span<const Settlement> settlements,
                                                         TimePoint now,
                                                         std::vector<Change>& changes);
  void forget_held(std::span<const Settlement> settlements);
  Result<SettleAnswer> settle_one(const Settlement& settlement, TimePoint now);

  Office& office_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable closed_or_waited_;
  bool closed_ = false;
  std::unordered_map<LeaseToken, Held> held_;
  PutOff put_off_;
};

}  // namespace dlo
