#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/must.h"

#include "dlo/broker/memory/memory_broker.h"
#include "dlo/core/identity.h"
#include "dlo/engine/processor.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {

inline Outcome ok() {
  return {};
}

inline Outcome failed(std::string type, std::string text) {
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.type = std::move(type);
  outcome.failure.text = std::move(text);
  return outcome;
}

inline std::shared_ptr<Handler> handler(FunctionHandler::Function function) {
  return std::make_shared<FunctionHandler>(std::move(function));
}

inline std::shared_ptr<const RuleBook> rules_of(Profile profile) {
  return std::make_shared<const RuleBook>(must(RuleBook::build(std::move(profile))));
}
inline std::shared_ptr<const RuleBook> rules_of(std::string_view name) {
  return rules_of(must(find_profile(name)));
}

/// Looks again and again until `condition` holds; gives up after a generous real time. Nothing is
/// concluded from how long it took.
template <typename Condition>
[[nodiscard]] bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The same while time goes on, a step at a time, and slowly enough for every thread to notice.
template <typename Condition>
[[nodiscard]] bool eventually(ManualClock& clock, Millis step, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (std::chrono::steady_clock::now() < deadline) {
    const auto pause = std::chrono::steady_clock::now() + std::chrono::milliseconds{2};
    while (std::chrono::steady_clock::now() < pause) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    clock.advance(step);
  }
  return false;
}

inline SourceOptions named(std::string source) {
  SourceOptions options;
  options.source = std::move(source);
  return options;
}

/// Brokers of the same epoch give their messages the same positions.
inline constexpr std::uint32_t broker_epoch = 7;

/// A source, an office, a clock that stands still, and a processor between them.
struct World {
  ManualClock clock{noon};
  MemoryBroker broker{named("orders"), broker_epoch};
  MemoryOffice office;
  Broker* source = &broker;
  Office* kept_in = &office;
  std::shared_ptr<const RuleBook> rules = rules_of("service-bus");
  HandlerTable handlers;
  Validators validators;
  EngineEvents* events = nullptr;
  DeathListener* listener = nullptr;
  ProcessorOptions options = default_options();

  static ProcessorOptions default_options() {
    ProcessorOptions options;
    options.origin = {"node-1", "build-7"};
    options.max_concurrency = 2;
    options.receive_wait = Millis{1};
    options.lease_for = std::chrono::hours{1};  // no test about something else loses a lease
    options.seed = 7;
    return options;
  }

  std::unique_ptr<Processor> processor() {
    return std::make_unique<Processor>(
        ProcessorParts{*source, *kept_in, rules, handlers, clock, validators, events, listener},
        options);
  }

  void on_every(FunctionHandler::Function function, HandlerOptions how = {}) {
    handlers.set_default(handler(std::move(function)), std::move(how));
  }

  MessagePtr publish(std::string id, std::string payload = "{}", std::string key = {},
                     std::string event_type = "OrderPlaced") {
    auto message = std::make_shared<Message>();
    message->id = std::move(id);
    message->payload = std::move(payload);
    message->key = std::move(key);
    message->event_type = std::move(event_type);
    const std::vector<Publication> batch{Publication{message, {}, {}, {}}};
    const auto answer = must(broker.publish(batch, clock.instant()));
    auto stamped = std::make_shared<Message>(*message);
    stamped->source = "orders";
    stamped->position = answer.front().position;
    return stamped;
  }
  void publish_many(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) publish("m" + std::to_string(i));
  }

  std::vector<DeadLetter> records(std::vector<Status> statuses = {}) {
    Query query;
    query.statuses = std::move(statuses);
    query.limit = 1'000;
    query.order = Order::oldest_first;
    std::vector<DeadLetter> out;
    while (true) {
      const Page page = must(office.list(query));
      for (const RecordHead& head : page.rows) out.push_back(must(office.get(head.id)).record);
      if (!page.next) return out;
      query.after = page.next;
    }
  }
  DeadLetter only_record(std::vector<Status> statuses = {}) {
    const auto all = records(std::move(statuses));
    EXPECT_EQ(all.size(), 1U);
    if (!all.empty()) return all.front();
    DeadLetter none;
    none.message = std::make_shared<Message>();
    return none;
  }
  std::vector<Attempt> attempts_of(const DeadLetter& record) {
    return must(office.get(record.id)).attempts;  // newest first
  }
  SourceStats source_stats() { return must(broker.stats(clock.instant())); }
};

/// A processor that runs on threads of its own until the end of the scope.
class Running {
 public:
  explicit Running(Processor& processor)
      : processor_(processor),
        thread_([&processor](std::stop_token stop) { processor.run(stop); }) {}
  ~Running() {
    if (thread_.joinable()) stop(Millis{0});
  }
  StopReport stop(Millis grace) {
    const StopReport report = processor_.stop(grace);
    thread_.request_stop();
    thread_.join();
    return report;
  }

 private:
  Processor& processor_;
  std::jthread thread_;
};

}  // namespace dlo::testing
