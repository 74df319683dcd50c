#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/must.h"
#include "unit/postgres/support.h"

#include "dlo/core/decide.h"
#include "dlo/engine/clock.h"
#include "dlo/outbox/relay.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {

/// Somebody who takes messages as a test tells him to.
class ScriptedOutlet {
 public:
  /// Why this message is not taken; empty: it is.
  std::function<std::optional<Error>(const outbox::Post&)> refuse;
  std::optional<Error> down;            // nothing is taken at all
  std::function<void()> before_answer;  // it has the messages, nobody knows yet

  outbox::Send sender() {
    return [this](std::span<const outbox::Post> posts, Instant) { return take(posts); };
  }
  /// Payloads as they arrived.
  [[nodiscard]] const std::vector<std::string>& taken() const { return taken_; }
  [[nodiscard]] const std::vector<outbox::Post>& posts() const { return posts_; }
  [[nodiscard]] std::size_t largest_call() const { return largest_; }
  [[nodiscard]] int tries(const std::string& payload) const {
    const auto found = tries_.find(payload);
    return found == tries_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::set<std::string> distinct() const { return {taken_.begin(), taken_.end()}; }

 private:
  Result<std::vector<std::optional<Error>>> take(std::span<const outbox::Post> posts) {
    if (down) return *down;
    largest_ = std::max(largest_, posts.size());
    std::vector<std::optional<Error>> outcomes;
    for (const outbox::Post& post : posts) {
      const std::string payload = post.message->payload.value_or("NULL");
      ++tries_[payload];
      std::optional<Error> error;
      if (refuse) error = refuse(post);
      if (!error) {
        taken_.push_back(payload);
        posts_.push_back(post);
      }
      outcomes.push_back(std::move(error));
    }
    if (before_answer) before_answer();
    return outcomes;
  }

  std::vector<std::string> taken_;
  std::vector<outbox::Post> posts_;
  std::map<std::string, int> tries_;
  std::size_t largest_ = 0;
};

inline Error no_room() {
  return {Code::full, "test", "the queue is full"};
}

/// A table of shape `own` in a schema of the shared server, and relays on it.
class OutboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SERVER(schema_ = std::make_unique<OwnSchema>());
    person_ = std::make_unique<postgres::Connection>(schema_->address(), "");
    run("CREATE SCHEMA " + outbox::quoted(schema_->name()));
    run("SET search_path = " + outbox::quoted(schema_->name()));
    shape_ = own();
    run(outbox::own_table_sql(shape_));
  }
  [[nodiscard]] outbox::Shape own(const std::string& name = "own") const {
    outbox::Shape shape = must(outbox::find_shape(name));
    shape.schema = schema_->name();
    return shape;
  }

  [[nodiscard]] RelayOptions options() const {
    RelayOptions options;
    options.name = "shop";
    options.address = schema_->address();
    options.shape = shape_;
    options.to = "amqp:events/{type}";
    return options;
  }
  [[nodiscard]] Relay::Parts parts() {
    auto rules = std::make_shared<const RuleBook>(must(RuleBook::build(profile_)));
    Relay::Parts parts{*kept_in_,
                       clock_,
                       {"node", "build"},
                       [rules](const Message&) { return rules; },
                       outlet_.sender(),
                       together_,
                       [this](const RelayStatus& status) { told_.push_back(status); }};
    return parts;
  }
  Relay& relay() {
    if (relay_ == nullptr) relay_ = std::make_unique<Relay>(options(), parts());
    return *relay_;
  }
  /// Another process takes over: it remembers nothing.
  void kill() { relay_.reset(); }
  /// Rounds until there is nothing to do.
  void drain(int most = 50) {
    while (most-- > 0 && relay().round() == Relay::After::more) {
    }
  }
  void run(const std::string& sql) { person_->run(sql); }
  std::int64_t count(const std::string& where) {
    return person_
        ->ask("SELECT count(*) FROM dlo_outbox WHERE " + where, postgres::Params(),
              postgres::Plan::once)
        .front()
        .number(0);
  }
  std::int64_t pending() { return count("published_at IS NULL"); }
  void put(const std::string& payload, const std::string& key = "",
           const std::string& type = "BookingCreated") {
    run("INSERT INTO dlo_outbox (event_type, key, payload) VALUES ('" + type + "', nullif('" + key +
        "', ''), '\"" + payload + "\"')");
  }
  static std::string json(const std::string& text) { return "\"" + text + "\""; }

  std::vector<RecordDetail> kept() {
    std::vector<RecordDetail> all;
    for (const RecordHead& head : must(kept_in_->list({})).rows) {
      all.push_back(must(kept_in_->get(head.id)));
    }
    return all;
  }

  std::unique_ptr<OwnSchema> schema_;
  std::unique_ptr<postgres::Connection> person_;
  outbox::Shape shape_;
  Profile profile_ = must(find_profile("booking-outbox"));
  MemoryOffice office_;
  Office* kept_in_ = &office_;
  std::shared_ptr<postgres::Escorts> together_;
  ManualClock clock_{noon};
  ScriptedOutlet outlet_;
  std::vector<RelayStatus> told_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace dlo::testing
