#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/consumer/requeued_counts.h"
#include "dlo/consumer/start_marks.h"
#include "dlo/store/office.h"

namespace dlo {

namespace consumer {
/// Where it is marked that a message was begun.
struct Starts {
  std::shared_ptr<StartMarks> marks{};  // null: what this process began is forgotten
  bool shared = false;                  // others on the same office read from the same queue
};
}  // namespace consumer

/// A broker that gives failed messages back as they are: the office keeps their counts. They are
/// durable before the message is given back, found again when it is handed out again, and gone when
/// it has ended. Messages are told apart by source, id and content (R3); those without an id have
/// no counts here: their broker sends them again with their counts in a header.
///
/// Nor does it know what ran when a process died. What is begun is marked here (`marks`, R6), so
/// that a message which kills its process is counted, suspected and in the end dead. Where several
/// processes share a queue (`shared`) another one may get it next: what may have been handed out
/// before is marked in the office as well, before it runs. First deliveries pay nothing there.
/// Threads  As Broker.
class CountingBroker final : public Broker {
 public:
  /// Counts that nobody asked for in so long are forgotten: their messages are gone.
  static constexpr Millis kept_for = std::chrono::hours{14 * 24};

  CountingBroker(std::unique_ptr<Broker> inner, Office& office, const std::string& source,
                 consumer::Starts starts = {});

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override;
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now) override;
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant now) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for) override;
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> messages,
                                             Instant now) override;
  Result<SourceStats> stats(Instant now) override;
  void close() noexcept override;

  /// Forgets what is too old; answers how many that were.
  Result<std::size_t> sweep(TimePoint now);

 private:
  struct Held {
    MessagePtr message;
    std::optional<TimePoint> first_attempt_at{};
    bool counted = false;  // the office has counts of it
    bool noted = false;    // ... that say it was begun
    bool may_be_repeat = false;
    std::uint32_t attempt = 0;                         // the last that was begun, this one not yet
    std::optional<std::string> found{};                // the counts the office had
    std::optional<consumer::StartMarks::Mark> left{};  // by whoever died running it
    std::optional<consumer::StartMarks::Place> place{};  // of its mark, once it is begun
  };
  Result<void> recall(Delivery& delivery, Held& held);
  /// What is marked here of one that was running when a process died.
  void look_at_marks(Delivery& delivery, Held& held);
  void mark(Held& held, TimePoint now);
  /// It is out of our hands. `unrun`: what was known of it before is known again.
  void unmark(Held& held, bool unrun);
  [[nodiscard]] Result<void> note(std::span<const LeaseToken> leases, const std::vector<bool>& live,
                                  TimePoint now);
  /// What the office is to know of it once it is begun; empty: nothing.
  [[nodiscard]] std::optional<std::string> begun(const Held& held, TimePoint now) const;
  [[nodiscard]] PutDocument as_found(const Held& held) const;
  void give_all_back(std::span<const Delivery> deliveries, Instant now);
  [[nodiscard]] PutDocument document(const Message& message, std::optional<std::string> body) const;
  [[nodiscard]] std::vector<Change> to_keep(std::span<const Settlement> settlements, TimePoint now);
  void forget(std::span<const Settlement> settlements, std::span<const SettleAnswer> answers,
              TimePoint now);

  std::unique_ptr<Broker> inner_;
  Office& office_;
  const std::string kind_;
  const consumer::Starts starts_;
  std::mutex mutex_;
  std::unordered_map<LeaseToken, Held> held_;
};

}  // namespace dlo
