#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "dlo/broker/broker.h"
#include "dlo/broker/memory/dedupe.h"
#include "dlo/broker/memory/queue.h"
#include "dlo/broker/source_options.h"

namespace dlo {

/// A complete broker inside this process: for tests, and for programs that embed an office and
/// can afford to lose what is queued when they end. Nothing is written anywhere.
/// Positions are stable: the partition names this broker, so that an office which outlives it never
/// takes a message of the next one for a repeat (R3); offsets count up from 0 in the order of
/// publication.
/// What it delivers is the published message with source, position and (if it had none)
/// enqueued_at and expires_at filled in.
/// Two locks: publishers copy and stamp under one, everybody moves messages under the other, in
/// batches; messages are destroyed under none.
class MemoryBroker final : public Broker, public QueueAdmin {
 public:
  /// `epoch` tells this broker's lease tokens and positions from another's; 0 draws one.
  explicit MemoryBroker(SourceOptions options = {}, std::uint32_t epoch = 0);
  ~MemoryBroker() override;
  MemoryBroker(const MemoryBroker&) = delete;
  MemoryBroker& operator=(const MemoryBroker&) = delete;

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
  void close() noexcept override;

  Result<void> pause() override;
  Result<void> resume() override;
  Result<std::uint64_t> purge() override;
  Result<std::vector<MessagePtr>> peek(std::size_t limit) override;
  Result<void> free_key(const std::string& key) override;
  Result<std::vector<std::string>> held_keys(std::size_t skip, std::size_t limit) override;
  Result<KeyHold> hold_on(const std::string& key) override;

  /// Puts in an item whose body no decoder can read, as a foreign broker might hold one.
  Result<PublishAnswer> publish_undecodable(std::string bytes, Failure why, Instant now);

  /// As if every holder of a lease had died: what had started comes back interrupted, the rest
  /// gets its claim back. Answers how many there were.
  Result<std::uint64_t> end_all_leases(Instant now);

 private:
  using Arrivals = std::vector<memory::Arrival>;

  PublishAnswer prepare(const Publication& publication, const Instant& now, Arrivals& arrivals);
  Result<void> admit(Arrivals& arrivals, const Instant& now);
  MessagePtr stamp(const Message& message, std::int64_t offset, TimePoint now) const;
  [[nodiscard]] Error closed(const char* where) const;
  void wake(std::uint64_t ready, bool timers_changed) noexcept;

  const SourceOptions options_;
  const std::string partition_;

  std::mutex intake_;  // taken before `mutex_`
  memory::DedupeWindow dedupe_;
  std::int64_t next_offset_ = 0;

  std::mutex mutex_;
  std::condition_variable arrived_;
  memory::Queue queue_;
  std::uint32_t waiting_ = 0;  // receivers in a long poll
  bool closed_ = false;
};

/// What a message weighs against max_bytes: its texts, headers and payload.
[[nodiscard]] std::uint64_t content_size(const Message& message) noexcept;

}  // namespace dlo
