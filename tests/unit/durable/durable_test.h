#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/must.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/durable/runtime.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;

inline constexpr auto orchestration = PoisonKind::orchestration;
inline constexpr auto activity = PoisonKind::activity;

/// What an owner heard.
struct Told {
  std::string what;
  Owner owner;
  Poison poison;
};

class Hooks final : public OwnerHooks {
 public:
  Result<void> fail_orchestration(const Owner& owner, const Poison& poison) override {
    return note("orchestration failed", owner, poison);
  }
  Result<void> notify_parent(const Owner& child, const Poison& poison) override {
    return note("parent told", child, poison);
  }
  Result<void> fail_activity(const Owner& owner, const Poison& poison) override {
    return note("activity failed", owner, poison);
  }
  void warn(const std::string& text) override { warnings.push_back(text); }

  std::vector<Told> told;
  std::vector<std::string> warnings;
  bool broken = false;

 private:
  Result<void> note(std::string what, const Owner& owner, const Poison& poison) {
    if (broken) return Error{Code::unavailable, "hooks", "The owner cannot be reached."};
    told.push_back({std::move(what), owner, poison});
    return {};
  }
};

/// A durable runtime over two brokers and an office in memory.
class DurableTest : public ::testing::Test {
 protected:
  void SetUp() override { use("durable"); }

  void use(const std::string& profile) {
    SourceOptions options;
    options.dedupe_window = 60min;
    options.claims_count = must(find_profile(profile)).claims_count;
    options.source = "orchestrator";
    orchestrators_ = std::make_unique<MemoryBroker>(options);
    options.source = "worker";
    workers_ = std::make_unique<MemoryBroker>(options);
    office_ = std::make_unique<MemoryOffice>();
    auto rules =
        std::make_shared<const RuleBook>(must(RuleBook::build(must(find_profile(profile)))));
    runtime_ = std::make_unique<DurableRuntime>(
        DurableRuntime::Parts{*office_, *orchestrators_, *workers_, rules, hooks_, "node-1"});
  }
  Broker& queue(PoisonKind kind) { return kind == orchestration ? *orchestrators_ : *workers_; }

  void send(PoisonKind kind, const std::string& instance, const std::string& parent = "") {
    Message message;
    message.id = instance + "/" + std::to_string(++sent_);
    message.payload = "input of " + instance;
    message.enqueued_at = noon - 1min;
    message.owner = Owner{.instance = instance, .execution = 3, .activity = {}, .parent = parent};
    if (kind == activity) message.owner->activity = Activity{"ChargeCard", 42};
    const Publication publication{.message = std::make_shared<const Message>(message)};
    must(queue(kind).publish({&publication, 1}, noon));
  }
  std::vector<Delivery> fetch(PoisonKind kind, std::size_t limit = 10) {
    return must(runtime_->fetch(kind, limit, 30s, now_));
  }
  LeaseToken fetch_one(PoisonKind kind) {
    const auto got = fetch(kind, 1);
    if (got.empty()) throw std::runtime_error("nothing was handed out");
    must(runtime_->start(kind, got.front().lease, now_));
    return got.front().lease;
  }
  AbandonResult abandon(PoisonKind kind, const LeaseToken& token,
                        AbandonOptions options = {.increment_count = true,
                                                  .error_message = "boom"}) {
    return must(runtime_->abandon(kind, token, options, now_));
  }

  TimePoint now_ = noon;
  Hooks hooks_;
  std::unique_ptr<MemoryBroker> orchestrators_;
  std::unique_ptr<MemoryBroker> workers_;
  std::unique_ptr<MemoryOffice> office_;
  std::unique_ptr<DurableRuntime> runtime_;
  int sent_ = 0;
};

}  // namespace dlo::testing
