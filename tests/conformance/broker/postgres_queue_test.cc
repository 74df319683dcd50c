#include <unistd.h>

#include "conformance/broker/broker_suite.h"
#include "conformance/broker/saboteur.h"
#include "support/eventually.h"
#include "support/postgres_server.h"

#include "dlo/broker/postgres/postgres_queues.h"
#include "dlo/postgres/connection.h"

namespace dlo::testing {
namespace {

/// One schema for all rigs of this program: they take turns with its queues.
class OwnSchema {
 public:
  OwnSchema()
      : address_(shared_postgres()), name_("q" + std::to_string(static_cast<int>(::getpid()))) {}
  ~OwnSchema() { person().run("DROP SCHEMA IF EXISTS \"" + name_ + "\" CASCADE"); }
  OwnSchema(const OwnSchema&) = delete;
  OwnSchema& operator=(const OwnSchema&) = delete;
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] postgres::Connection person() const {
    return {address_, "SET search_path = \"" + name_ + "\"; SET client_min_messages = warning"};
  }

 private:
  std::string address_;
  std::string name_;
};

OwnSchema& schema() {
  static OwnSchema made;
  return made;
}

class PostgresRig final : public Rig {
 public:
  explicit PostgresRig(const SourceOptions& options) : options_(options) { open(noon); }
  ~PostgresRig() override {
    queue_.reset();
    queues_.reset();
    auto person = schema().person();
    for (const std::string table : {"messages", "tallies", "holds", "dedupe"}) {
      (void)person.ask(
          "DELETE FROM " + table + " WHERE queue IN (SELECT number FROM queues WHERE name = $1)",
          postgres::Params(options_.source));
    }
    (void)person.ask("DELETE FROM queues WHERE name = $1", postgres::Params(options_.source));
  }
  PostgresRig(const PostgresRig&) = delete;
  PostgresRig& operator=(const PostgresRig&) = delete;

  Broker& broker() override { return *queue_; }

  // A connection that is gone is what the death of a process looks like to the server, which takes
  // a moment to see it.
  void restart(Restart how, TimePoint now) override {
    if (how == Restart::clean) {
      must(queues_->close_at(now));
    } else {
      queues_->abandon();
    }
    queue_.reset();
    queues_.reset();
    open(now);
    const bool over = eventually([&] {
      must(queues_->end_leases_of_the_dead(now));
      return schema().person().ask("SELECT number FROM holders").size() == 1;
    });
    if (!over) throw std::runtime_error("a program that is gone still counts as alive");
  }

  void put_undecodable(const std::string& bytes, TimePoint now) override {
    Failure why;
    why.type = "JsonException";
    why.text = "no JSON";
    must(queue_->publish_undecodable(bytes, why, now));
  }

 private:
  void open(TimePoint now) {
    PostgresQueueOptions options;
    options.schema = schema().name();
    queues_ = must(PostgresQueues::open(schema().address(), now, options));
    queue_ = must(queues_->declare(options_));
  }

  SourceOptions options_;
  std::unique_ptr<PostgresQueues> queues_;
  std::unique_ptr<PostgresQueue> queue_;
};

BrokerBackend postgres_backend() {
  Abilities can;
  can.holds = false;  // several servers would let keys go (docs/adr/0029)
  return {"Postgres", can,
          [](const SourceOptions& options) { return std::make_unique<PostgresRig>(options); },
          [] { (void)shared_postgres(); }, 24};
}

INSTANTIATE_TEST_SUITE_P(Postgres, BrokerSuite, ::testing::Values(as_asked(postgres_backend())),
                         backend_name);

}  // namespace
}  // namespace dlo::testing
