#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlo/broker/broker.h"

namespace dlo::testing {

/// A queue without stable places, as RabbitMQ's are: what was handed out and not acknowledged comes
/// back when the connection ends, marked as a repeat.
class DeadQueue final : public Broker {
 public:
  void put(std::string id, std::string body = "body", Headers headers = {}) {
    auto message = std::make_shared<Message>();
    message->id = std::move(id);
    message->payload = std::move(body);
    message->headers = std::move(headers);
    waiting_.push_back({std::move(message), false});
  }
  /// The connection is lost: everything unacknowledged is the queue's again.
  void cut() {
    for (auto each = out_.rbegin(); each != out_.rend(); ++each) {
      waiting_.push_front({each->second, true});
    }
    out_.clear();
  }
  [[nodiscard]] std::size_t left() const { return waiting_.size() + out_.size() + aside_; }

  std::optional<Error> down;       // of every call
  bool loses_settlements = false;  // sent, and never read by the other side

  Result<std::vector<Delivery>> receive(const ReceiveRequest& request, Instant now) override {
    if (down) return *down;
    std::vector<Delivery> out;
    while (!waiting_.empty() && out.size() < request.limit) {
      Delivery& delivery = out.emplace_back();
      delivery.lease = LeaseToken{{7, ++last_}};
      delivery.message = waiting_.front().first;
      delivery.may_be_repeat = waiting_.front().second;
      delivery.leased_until = now.wall + request.lease_for;
      out_[delivery.lease] = waiting_.front().first;
      waiting_.pop_front();
    }
    return out;
  }
  Result<std::vector<SettleAnswer>> settle(std::span<const Settlement> settlements,
                                           Instant /*now*/) override {
    std::vector<SettleAnswer> answers(settlements.size());
    for (std::size_t i = 0; i < settlements.size(); ++i) {
      const auto found = out_.find(settlements[i].lease);
      if (found == out_.end()) answers[i].settled = Settled::lease_lost;
      if (found == out_.end() || loses_settlements) continue;
      if (std::holds_alternative<ReleasedUnrun>(settlements[i].ending)) {
        waiting_.push_back({found->second, true});
      } else if (std::holds_alternative<Abandoned>(settlements[i].ending)) {
        ++aside_;
      }
      out_.erase(found);
    }
    return answers;
  }
  Result<std::vector<bool>> start(std::span<const LeaseToken> leases, Instant /*now*/) override {
    return std::vector<bool>(leases.size(), true);
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, Instant /*now*/,
                                  Millis /*lease_for*/) override {
    return std::vector<bool>(leases.size(), true);
  }
  Result<std::vector<PublishAnswer>> publish(std::span<const Publication> /*messages*/,
                                             Instant /*now*/) override {
    return Error{Code::refused, "test", "nobody publishes here"};
  }
  Result<SourceStats> stats(Instant /*now*/) override { return SourceStats{}; }
  void close() noexcept override {}

 private:
  std::deque<std::pair<MessagePtr, bool>> waiting_;
  std::map<LeaseToken, MessagePtr> out_;
  std::size_t aside_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace dlo::testing
