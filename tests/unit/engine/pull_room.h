#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "support/must.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/engine/pull_desk.h"
#include "dlo/store/memory/memory_office.h"
#include "dlo/store/passing_office.h"

namespace dlo::testing {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using Fate = PullAnswer::Fate;

inline std::shared_ptr<const RuleBook> rules_of(const std::string& profile) {
  return std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile(profile)))));
}

/// An office that answers no writes while it is down.
class FailingOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (down) return Error{Code::unavailable, "test", "the office is down"};
    return inner().apply(changes);
  }
  bool down = false;
};

/// A desk over a broker and an office in memory, and a worker who comes to it.
class PullDeskTest : public ::testing::Test {
 protected:
  PullDeskTest() {
    SourceOptions options;
    options.source = "orders";
    broker_ = std::make_unique<MemoryBroker>(options);
    use("service-bus");
  }
  void use(const std::string& profile) {
    desk_ = std::make_unique<PullDesk>(
        PullDesk::Parts{*broker_, office_, rules_of(profile), clock_, {"node", "build"}});
  }
  void send(const std::string& id, std::optional<TimePoint> expires = {}) {
    auto message = std::make_shared<Message>();
    message->id = id;
    message->payload = "x";
    message->expires_at = expires;
    message->owner = owner_;
    Publication publication;
    publication.message = std::move(message);
    must(broker_->publish({&publication, 1}, clock_.instant()));
  }
  std::vector<PullDesk::Handed> receive(std::size_t limit = 10) {
    return must(desk_->receive(limit, 30s));
  }
  PullAnswer settle(const LeaseToken& lease, PullEnding ending) {
    std::vector<PullSettlement> one;
    one.push_back({lease, std::move(ending)});
    return must(desk_->settle(std::move(one))).front();
  }
  static PullFailed failed(const std::string& text) {
    PullFailed failed;
    failed.failure.text = text;
    return failed;
  }
  SourceStats stats() { return must(broker_->stats(clock_.instant())); }

  std::optional<Owner> owner_;  // of what is sent from now on
  ManualClock clock_{noon};
  MemoryOffice kept_;
  FailingOffice office_{kept_};
  std::unique_ptr<MemoryBroker> broker_;
  std::unique_ptr<PullDesk> desk_;
};

}  // namespace dlo::testing
