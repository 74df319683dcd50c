#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/broker/own_queues.h"
#include "dlo/broker/postgres/postgres_options.h"
#include "dlo/broker/rate_meter.h"
#include "dlo/core/result.h"

namespace dlo {

namespace postgres {
class Bell;
class Connection;
class Hub;
class Row;
}  // namespace postgres

/// One named queue in a PostgreSQL database. A Broker like any other; any number of programs may
/// have it open and hand out its messages.
/// Positions are stable: the partition names the tables' incarnation, offsets rise in the order of
/// publication.
/// Rates are those of this program.
class PostgresQueue final : public OwnQueue {
 public:
  PostgresQueue(std::shared_ptr<postgres::Hub> hub, int number, SourceOptions options);
  ~PostgresQueue() override;
  PostgresQueue(const PostgresQueue&) = delete;
  PostgresQueue& operator=(const PostgresQueue&) = delete;

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

  Result<void> pause() override { return set_paused(true); }
  Result<void> resume() override { return set_paused(false); }
  Result<std::uint64_t> purge() override;
  Result<std::vector<MessagePtr>> peek(std::size_t limit) override;
  Result<void> free_key(const std::string& key) override;
  Result<std::uint64_t> move_to(OwnQueue& target) override;
  bool may_have_some(Instant now) override;

  /// Puts in an item whose body no decoder can read, as a foreign broker might hold one.
  Result<PublishAnswer> publish_undecodable(std::string bytes, const Failure& why, Instant now);

 private:
  struct Moment {  // of one call
    TimePoint even{};
    TimePoint wall{};
  };
  struct Batch;

  [[nodiscard]] Result<Moment> tell(const Instant& now);
  [[nodiscard]] Instant latest();
  [[nodiscard]] Result<void> check_open(const char* where) const;
  [[nodiscard]] Result<std::vector<Delivery>> take(const ReceiveRequest& request,
                                                   const Instant& now,
                                                   std::optional<TimePoint>& next);
  [[nodiscard]] Delivery delivery_of(const postgres::Row& row, const ReceiveRequest& request,
                                     const Instant& now) const;
  [[nodiscard]] MessagePtr message_of(std::string_view envelope, std::string_view payload,
                                      std::int64_t place, Priority priority,
                                      std::optional<TimePoint> expires,
                                      std::shared_ptr<const Failure>& undecodable) const;
  [[nodiscard]] Result<std::vector<PublishAnswer>> add(std::span<const Publication> messages,
                                                       const Failure* undecodable, Instant now);
  [[nodiscard]] Result<void> add_where_there_is_room(postgres::Connection& connection,
                                                     Batch& batch);
  [[nodiscard]] Result<std::vector<bool>> touch(const char* where, const std::string& sql,
                                                std::span<const LeaseToken> leases,
                                                const Moment& moment, TimePoint argument);
  [[nodiscard]] Result<void> set_paused(bool paused);

  const std::shared_ptr<postgres::Hub> hub_;
  const int number_;
  const SourceOptions options_;
  const std::shared_ptr<postgres::Bell> bell_;
  std::atomic<bool> closed_{false};

  std::mutex mutex_;
  Instant latest_;  // the clock as last told, but for small steps back
  RateMeter in_rate_;
  RateMeter out_rate_;
  struct Look {  // at a queue that had nothing
    std::uint64_t heard = 0;
    std::optional<TimePoint> next;  // by the even clock
    std::optional<std::chrono::steady_clock::time_point> at;
  };
  Look empty_;
};

/// All queues of one schema of a PostgreSQL database (15 or newer). Everything that is sent or
/// settled is on the server's disk when it is answered. A server that goes away is met with
/// `unavailable` at once and found again when it is back. docs/adr/0022 says why it is built so.
class PostgresQueues final : public OwnQueues {
 public:
  /// Creates what is missing. `address` as libpq takes it (postgresql://…, or key=value). Leases of
  /// programs that are no more end. invalid_argument: an address or schema that cannot be one;
  /// unavailable: no server, or one that takes no writes; refused: a newer schema, or one that is
  /// not ours.
  [[nodiscard]] static Result<std::unique_ptr<PostgresQueues>> open(
      const std::string& address, Instant now, const PostgresQueueOptions& options = {});
  ~PostgresQueues() override;
  PostgresQueues(const PostgresQueues&) = delete;
  PostgresQueues& operator=(const PostgresQueues&) = delete;

  Result<std::unique_ptr<PostgresQueue>> declare(const SourceOptions& options);
  Result<std::unique_ptr<PostgresQueue>> find(const std::string& name);
  Result<std::unique_ptr<OwnQueue>> make(const SourceOptions& options) override;
  [[nodiscard]] Result<void> check(const SourceOptions& options) const override;
  Result<std::unique_ptr<OwnQueue>> existing(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] QueuesHealth health() const override;
  /// Our leases end. Later calls answer unavailable.
  Result<void> close() override { return close_at(std::nullopt); }
  Result<void> close_at(std::optional<Instant> now);
  /// As if this program had been killed: nothing is ended, every connection is gone.
  void abandon();
  /// Leases of programs that are no more end now. Answers how many did.
  Result<std::uint64_t> end_leases_of_the_dead(Instant now);

  /// Host, port, database and schema, for people.
  [[nodiscard]] const std::string& place() const noexcept;

 private:
  explicit PostgresQueues(std::shared_ptr<postgres::Hub> hub);
  std::shared_ptr<postgres::Hub> hub_;
};

}  // namespace dlo
