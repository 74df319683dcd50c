#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"

namespace dlo::testing {

/// A queue as RabbitMQ has them: what failed is requeued as it was, without counts, and what nobody
/// settled comes back when the connection is closed. It outlives its connections.
class PlainQueue {
 public:
  void put(std::string id, std::string body = "{}", Headers headers = {}) {
    auto message = std::make_shared<Message>();
    message->source = "payments";
    message->id = std::move(id);
    message->payload = std::move(body);
    message->headers = std::move(headers);
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(std::move(message), false);
  }
  [[nodiscard]] std::size_t left() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size() + out_.size();
  }
  [[nodiscard]] std::size_t requeued() const { return requeued_.load(); }
  /// Everything unsettled is the queue's again, and the leases are lost.
  void cut() {
    const std::lock_guard lock(mutex_);
    for (auto& each : out_) waiting_.emplace_front(each.second, true);
    out_.clear();
  }

  /// Somebody had them all in hand, and his connection ended.
  void hand_out_and_cut() {
    const std::lock_guard lock(mutex_);
    for (auto& each : waiting_) each.second = true;
  }

  std::atomic<bool> down{false};

  class Connection;
  [[nodiscard]] std::unique_ptr<Broker> connect();

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<MessagePtr, bool>> waiting_;
  std::map<LeaseToken, MessagePtr> out_;
  std::uint64_t last_ = 0;
  std::atomic<std::size_t> requeued_{0};
};

class PlainQueue::Connection final : public Broker {
 public:
  explicit Connection(PlainQueue& queue) : queue_(queue) {}
  ~Connection() override { close(); }

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override {
    if (queue_.down) return Error{Code::unavailable, "test.queue", "nobody answers"};
    std::vector<Delivery> out;
    const std::lock_guard lock(queue_.mutex_);
    while (!queue_.waiting_.empty() && out.size() < request.limit) {
      Delivery& delivery = out.emplace_back();
      delivery.lease = LeaseToken{{7, ++queue_.last_}};
      delivery.message = queue_.waiting_.front().first;
      delivery.may_be_repeat = queue_.waiting_.front().second;
      delivery.counters.fetch = 1;
      delivery.leased_until = now.wall + request.lease_for;
      delivery.steady_until = now.steady + request.lease_for;
      queue_.out_[delivery.lease] = delivery.message;
      queue_.waiting_.pop_front();
    }
    if (out.empty()) std::this_thread::yield();
    return out;
  }
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant /*now*/) override {
    return live(leases);
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant /*now*/,
                                  Millis /*lease_for*/) override {
    return live(leases);
  }
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant /*now*/) override {
    std::vector<SettleAnswer> answers(settlements.size());
    const std::lock_guard lock(queue_.mutex_);
    for (std::size_t i = 0; i < settlements.size(); ++i) {
      const auto found = queue_.out_.find(settlements[i].lease);
      if (found == queue_.out_.end()) {
        answers[i].settled = Settled::lease_lost;
        continue;
      }
      const Ending& ending = settlements[i].ending;
      const bool gone =
          std::holds_alternative<Completed>(ending) || std::holds_alternative<DeadLettered>(ending);
      if (std::holds_alternative<Failed>(ending)) ++queue_.requeued_;
      if (!gone) queue_.waiting_.emplace_front(found->second, true);
      queue_.out_.erase(found);
    }
    return answers;
  }
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> /*messages*/,
                                             Instant /*now*/) override {
    return Error{Code::refused, "test", "not here"};
  }
  Result<SourceStats> stats(Instant /*now*/) override { return SourceStats{}; }
  void close() noexcept override { queue_.cut(); }

 private:
  [[nodiscard]] std::vector<bool> live(std::span<const LeaseToken> leases) const {
    std::vector<bool> all;
    const std::lock_guard lock(queue_.mutex_);
    for (const LeaseToken& each : leases) all.push_back(queue_.out_.contains(each));
    return all;
  }

  PlainQueue& queue_;
};

inline std::unique_ptr<Broker> PlainQueue::connect() {
  return std::make_unique<Connection>(*this);
}

}  // namespace dlo::testing
