#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/consumer/requeued_counts.h"
#include "dlo/store/office.h"

namespace dlo {

/// A broker that gives failed messages back as they are: the office keeps their counts. They are
/// durable before the message is given back, found again when it is handed out again, and gone when
/// it has ended. Messages are told apart by source, id and content (R3); those without an id are
/// none of our business here: their broker sends them again with their counts in a header. Threads
/// As Broker.
class CountingBroker final : public Broker {
 public:
  /// Counts that nobody asked for in so long are forgotten: their messages are gone.
  static constexpr Millis kept_for = std::chrono::hours{14 * 24};

  CountingBroker(std::unique_ptr<Broker> inner, Office& office, const std::string& source);

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override;
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override;
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override;
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override;
  Result<SourceStats> stats(Instant now) override;
  void close() noexcept override { inner_->close(); }

  /// Forgets what is too old; answers how many that were.
  Result<std::size_t> sweep(TimePoint now);

 private:
  struct Held {
    MessagePtr message;
    std::optional<TimePoint> first_attempt_at{};
    bool counted = false;  // the office has counts of it
  };
  Result<void> recall(Delivery& delivery, Held& held);
  void give_all_back(std::span<const Delivery> deliveries, Instant now);
  [[nodiscard]] PutDocument document(const Message& message, std::optional<std::string> body) const;
  [[nodiscard]] std::vector<Change> to_keep(std::span<const Settlement> settlements, TimePoint now);
  void forget(std::span<const Settlement> settlements, std::span<const SettleAnswer> answers);

  std::unique_ptr<Broker> inner_;
  Office& office_;
  const std::string kind_;
  std::mutex mutex_;
  std::unordered_map<LeaseToken, Held> held_;
};

}  // namespace dlo
