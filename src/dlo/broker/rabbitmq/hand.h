#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/memory/queue.h"
#include "dlo/broker/rabbitmq/line.h"
#include "dlo/broker/rabbitmq/rabbit_options.h"

namespace dlo::rabbitmq {

/// Deliveries of one channel that can be acknowledged. Tags mean nothing on another channel.
struct Tags {
  std::uint32_t epoch = 0;
  std::vector<std::uint64_t> tags;
};

/// A failed message that is to be sent again before its delivery is acknowledged.
struct Retry {
  std::uint32_t epoch = 0;
  std::uint64_t tag = 0;
  MessagePtr message;
  std::shared_ptr<Carried> carried;
};

/// What the server is to hear of what was settled.
struct Ended {
  Tags done;  // went well: a crash before it is acknowledged repeats it, as one just before that
  Tags over;  // died or expired: acknowledged before anybody writes down that it is settled
  Tags back;  // given back
  std::vector<Retry> retries;
};

/// What the server has handed to this process and nobody has acknowledged yet: leases, waits and
/// counts of it, as every broker has them. When the channel ends all of it is the server's again,
/// and every lease is lost: a token names the channel it belongs to.
/// Threads  Any method from any thread.
class Hand {
 public:
  explicit Hand(const RabbitOptions& options);

  // The line's side.
  void began(std::uint32_t epoch);
  void came(Incoming&& incoming);
  /// Those that came are to be seen: whoever waits for them is woken once for many.
  void came_all();
  void lost(const Error& why);

  // The callers' side. `done` is what may be acknowledged now.
  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now, Tags& done);
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant now);
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant now,
                                  Millis lease_for);
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements, Instant now,
                                           Ended& ended);
  /// It could not be sent again: it waits here, with its counts in memory only.
  void put_back(const Retry& retry, const Error& why, TimePoint now);
  void sent_again() noexcept;
  Result<SourceStats> stats(Instant now);

  void close() noexcept;
  [[nodiscard]] bool closed();

 private:
  /// Every message in here is one, so that what is gone can be acknowledged.
  struct Tagged final : Message {
    Tagged(Message&& message, std::uint64_t of) : Message(std::move(message)), tag(of) {}
    const std::uint64_t tag;
  };
  struct Newcomer {
    std::shared_ptr<Tagged> message;
    bool redelivered = false;
    Carried carried;
  };
  [[nodiscard]] static std::uint64_t tag_of(const Message& message) noexcept {
    return static_cast<const Tagged&>(message).tag;
  }

  [[nodiscard]] std::optional<Error> down(const char* where) const;
  void advance(const Instant& now);
  void admit(Newcomer newcomer, TimePoint now);
  void collect(const memory::Queue::Gone& gone, Tags& done) const;
  [[nodiscard]] std::unique_ptr<memory::Queue> new_queue() const;
  void end_failed(const Settlement& settlement, const memory::Slot& slot, const Instant& now,
                  Ended& ended);
  [[nodiscard]] Retry retry_of(const memory::Slot& slot, const Failed& failed) const;

  const std::string source_;
  const std::string event_type_;
  const SourceOptions options_;
  const bool returns_are_attempts_;
  const bool requeues_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::unique_ptr<memory::Queue> queue_;
  std::vector<Newcomer> inbox_;  // nobody has said what time it is since they came
  std::uint32_t epoch_ = 0;
  std::optional<Error> why_down_;
  std::string trouble_;
  SourceStats past_;                 // of channels that are gone
  std::uint64_t not_completed_ = 0;  // left the hand to be sent again
  bool closed_ = false;
};

}  // namespace dlo::rabbitmq
