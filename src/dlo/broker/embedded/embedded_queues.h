#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/embedded/embedded_options.h"
#include "dlo/broker/own_queues.h"
#include "dlo/broker/source_options.h"
#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo {

namespace embedded {
class Depot;
}

/// One named queue. A Broker like any other, and a little more.
/// Positions are stable: the partition names the journal's incarnation, offsets rise in the order
/// of publication.
class EmbeddedQueue final : public OwnQueue, public EagerBroker {
 public:
  EmbeddedQueue(std::shared_ptr<embedded::Depot> depot, std::uint16_t number,
                std::shared_ptr<const Sealer> sealer) noexcept;
  ~EmbeddedQueue() override;
  EmbeddedQueue(const EmbeddedQueue&) = delete;
  EmbeddedQueue& operator=(const EmbeddedQueue&) = delete;

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override;
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override;
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override;
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override;
  Result<SourceStats> stats(Instant now) override;
  QueueAdmin* admin() noexcept override { return this; }
  EagerBroker* eager() noexcept override { return this; }
  void close() noexcept override;

  Pending<std::vector<PublishAnswer>> publish_soon(std::span<const Publication> messages,
                                                   Instant now) override;
  Pending<std::vector<SettleAnswer>> settle_soon(std::span<const Settlement> settlements,
                                                 Instant now) override;
  bool places_at_once() override;
  void flush() override;

  Result<void> pause() override;
  Result<void> resume() override;
  Result<std::uint64_t> purge() override;
  Result<std::vector<MessagePtr>> peek(std::size_t limit) override;
  Result<void> free_key(const std::string& key) override;
  Result<std::vector<std::string>> held_keys(std::size_t skip, std::size_t limit) override;
  Result<KeyHold> hold_on(const std::string& key) override;

  /// Puts in an item whose body no decoder can read, as a foreign broker might hold one.
  Result<PublishAnswer> publish_undecodable(std::string bytes, const Failure& why, Instant now);

  /// Nobody receives anything from here until it is over; after a crash it is finished when the
  /// queues are opened.
  Result<std::uint64_t> move_to(OwnQueue& target) override;

  // The queue's own dead set, if it was declared to keep one.
  [[nodiscard]] std::uint64_t dead() const;
  struct DeadMessage {
    MessagePtr message;
    Counters counters;
    std::string error;
    std::optional<TimePoint> first_attempt_at;
  };
  /// Up to `limit` of them, who died first comes first. Changes nothing.
  Result<std::vector<DeadMessage>> dead_letters(std::size_t limit);
  /// The whole dead set is ready again; counts begin anew, as after a replay. Answers how many.
  Result<std::uint64_t> redrive();

 private:
  std::shared_ptr<embedded::Depot> depot_;
  std::uint16_t number_;
  std::shared_ptr<const Sealer> sealer_;  // null: nothing is sealed
};

/// All queues of one directory: no server, no configuration. Durable when it answers: everything
/// that arrived meanwhile shares one sync. One process at a time; a second is refused with the
/// owner's pid.
class EmbeddedQueues final : public OwnQueues {
 public:
  /// Opens the directory, or makes it. Leases of an earlier life are over.
  [[nodiscard]] static Result<std::unique_ptr<EmbeddedQueues>> open(
      const std::string& directory, TimePoint now, const EmbeddedOptions& options = {});
  /// The same on files of the caller's, who keeps them until this is gone.
  [[nodiscard]] static Result<std::unique_ptr<EmbeddedQueues>> open(
      FileSystem& files, TimePoint now, const EmbeddedOptions& options = {});

  /// Closes. What was not closed in good order before is as durable as after a crash.
  ~EmbeddedQueues() override;
  EmbeddedQueues(const EmbeddedQueues&) = delete;
  EmbeddedQueues& operator=(const EmbeddedQueues&) = delete;

  /// The queue named `options.source`: made if it is new, else with these settings from now on.
  /// `keeps_dead`: without an office, DeadLettered ones stay in a dead set of the queue.
  Result<std::unique_ptr<EmbeddedQueue>> declare(const SourceOptions& options,
                                                 bool keeps_dead = false);
  /// A queue that exists, with the settings it has; `not_found` otherwise.
  Result<std::unique_ptr<EmbeddedQueue>> find(const std::string& name);
  Result<std::unique_ptr<OwnQueue>> make(const SourceOptions& options) override;
  Result<std::unique_ptr<OwnQueue>> existing(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> names() const override;

  /// What opening found: worth telling the operator.
  [[nodiscard]] const RecoveryReport& recovery() const noexcept { return report_; }
  [[nodiscard]] JournalStats journal_stats() const;
  /// Whether anything is wrong: a journal that a failed write or sync made read-only, a full disk,
  /// checkpoints that cannot be written. Cheap, for those who ask every few seconds.
  [[nodiscard]] QueuesHealth health() const override;
  /// Now instead of by and by: reading back begins here, and segments nobody needs are freed, those
  /// as well that hold only a few old messages: these are moved.
  Result<void> tidy();
  /// Syncs and seals. Later calls answer unavailable.
  Result<void> close() override;

 private:
  EmbeddedQueues() = default;
  static Result<std::unique_ptr<EmbeddedQueues>> open(FileSystem& files,
                                                      std::unique_ptr<FileSystem> owned,
                                                      TimePoint now,
                                                      const EmbeddedOptions& options);
  std::shared_ptr<embedded::Depot> depot_;
  std::shared_ptr<const Sealer> sealer_;
  RecoveryReport report_;
};

}  // namespace dlo
