// Three servers on one office, all of them on the same queues and the same outbox, killed at
// random.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "scenario/nodes_on_one_office.h"
#include "support/must.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"

#include "dlo/core/states.h"
#include "dlo/outbox/shape.h"
#include "dlo/postgres/connection.h"

namespace dlo::testing {
namespace {

constexpr std::chrono::seconds long_patience{240};  // servers on a busy machine take their time

class NodesWithBrokersAreKilled : public NodesOnOneOffice {
 protected:
  static constexpr int kills = 6;
  static constexpr int waves = kills + 1;
  static constexpr int of_a_wave = 40;  // for each of the queues, and for the outbox

  void SetUp() override {
    NodesOnOneOffice::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    SKIP_WITHOUT_SERVER(broker_ = shared_rabbitmq());
    queue_ = fresh_queue();
    client_ = std::make_unique<RabbitClient>(broker_);
    for (const std::string& each : queues()) client_->declare(each);
    person_ = std::make_unique<postgres::Connection>(database_->address(), "");
    outbox::Shape shape = must(outbox::find_shape("own"));
    shape.schema = "shop";
    person_->run("CREATE SCHEMA shop; SET search_path = shop; " + outbox::own_table_sql(shape));
    write_handler();
    for (std::size_t i = 0; i < nodes; ++i) configure(i);
  }
  void TearDown() override {
    for (auto& each : running_) each.reset();
    if (client_ == nullptr) return;
    for (const std::string& each : queues()) client_->remove(each);
  }

  [[nodiscard]] std::vector<std::string> queues() const {
    return {queue_, copies(), collected(), events()};
  }
  [[nodiscard]] std::string copies() const { return queue_ + "_dlq"; }
  [[nodiscard]] std::string collected() const { return queue_ + "_old"; }
  [[nodiscard]] std::string events() const { return queue_ + "_events"; }

  void write_handler() const {
    const std::string script = file("handle");
    std::ofstream(script) << "#!/bin/sh\nbody=$(cat)\necho \"$DLO_MESSAGE_ID $DLO_ID\" >> "
                          << file("runs") << "\ncase \"$body\" in *bad*) exit 1 ;; esac\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  }
  void configure(std::size_t i) const {
    std::ofstream(file(name(i) + ".yaml"))
        << "data: " << file(name(i)) << "\noffice: '" << database_->address() << "'\n"
        << "server: {listen: '127.0.0.1:0', node: " << name(i) << "}\n"
        << "workflow: {lease: 2s}\nrabbitmq: {heartbeat: 2s, address: '" << broker_ << "'}\n"
        << "profiles:\n  quick: {base: booking+safe, retry: fixed base=100ms}\n"
        << "  rows: {base: booking-outbox, retry: fixed base=20ms}\n"
        << "sources:\n  payments: {rabbitmq: " << queue_ << ", profile: quick, prefetch: 16, "
        << "dead_letter_queue: " << copies() << ", handler: {command: " << file("handle")
        << ", at_once: 2, circuit: {failures: 0, share: 100, of: 1000000}}}\n"
        << "collectors:\n  old: {rabbitmq: " << collected() << ", profile: booking}\n"
        << "outboxes:\n  shop: {table: shop.dlo_outbox, to: 'amqp:{type}', profile: rows, poll: "
        << "50ms}\n";
  }

  void publish(const std::string& queue, const std::string& id, const std::string& body) {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.delivery_mode = 2;
    properties.message_id = RabbitClient::bytes(id);
    client_->publish(queue, properties, body);
  }
  /// Every fourth fails for good: two are bad payments, two rows have nowhere to go.
  void send_wave(int wave) {
    const std::string mark = std::to_string(wave) + "-";
    for (int i = 0; i < of_a_wave; ++i) {
      const std::string id = "p" + mark + std::to_string(i);
      const bool is_bad = i % 4 == 0;
      publish(queue_, id, is_bad ? "bad" : "good");
      (is_bad ? bad_ : good_).insert(id);
      const std::string old = "c" + mark + std::to_string(i);
      publish(collected(), old, "{}");
      old_.insert(old);
    }
    const std::string count = std::to_string(of_a_wave);
    person_->run(
        "INSERT INTO shop.dlo_outbox (event_type, key, payload) SELECT CASE n % 4 WHEN 0 "
        "THEN 'nowhere' ELSE '" +
        events() +
        "' END, 'k' || n, to_jsonb(n) FROM "
        "generate_series(1, " +
        count + ") n");
    (void)client_->ready(collected());  // the answer comes after them
  }

  [[nodiscard]] std::int64_t ask_number(const std::string& sql) const {
    return person_->ask(sql, postgres::Params(), postgres::Plan::once).front().number(0);
  }
  [[nodiscard]] std::int64_t rows_left() const {
    return ask_number("SELECT count(*) FROM shop.dlo_outbox WHERE published_at IS NULL");
  }
  /// Dead letters of a source; how many of them are there twice.
  [[nodiscard]] std::int64_t records(const std::string& source) const {
    return ask_number(
        "SELECT count(*) FROM dlo.records WHERE class > 0 AND status <> 8 AND source = '" + source +
        "'");
  }
  [[nodiscard]] std::set<std::string> message_ids(const std::string& source) const {
    std::set<std::string> ids;
    const auto rows = person_->ask(
        "SELECT message_id FROM dlo.records WHERE class = 1 AND source = '" + source + "'",
        postgres::Params(), postgres::Plan::once);
    for (const auto row : rows)
      EXPECT_TRUE(ids.insert(row.text(0)).second) << row.text(0) << " is there twice";
    return ids;
  }
  [[nodiscard]] std::int64_t waiting() const {
    return ask_number("SELECT count(*) FROM dlo.records WHERE class = 0");
  }
  /// Under which ids of ours each message was run.
  [[nodiscard]] std::map<std::string, std::set<std::string>> runs() const {
    std::map<std::string, std::set<std::string>> all;
    std::ifstream in(file("runs"));
    std::string message;
    std::string id;
    while (in >> message >> id) all[message].insert(id);
    return all;
  }
  [[nodiscard]] bool all_done() {
    return rows_left() == 0 && client_->ready(queue_) == 0 && client_->ready(collected()) == 0 &&
           waiting() == 0 && records("payments") == static_cast<std::int64_t>(bad_.size()) &&
           records("old") == static_cast<std::int64_t>(old_.size());
  }
  void kill_and_start_one(std::mt19937& dice) {
    const std::size_t victim = dice() % nodes;
    kill(victim);
    start(victim);
  }

  std::string broker_;
  std::string queue_;
  std::unique_ptr<RabbitClient> client_;
  std::unique_ptr<postgres::Connection> person_;
  std::set<std::string> good_;
  std::set<std::string> bad_;
  std::set<std::string> old_;
};

TEST_F(NodesWithBrokersAreKilled, AndNothingIsLostAndNoRecordDoubled) {  // R5, GEN-01
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 dice(seed);
  start_all();
  for (int wave = 0; wave < waves; ++wave) {
    const auto ran = runs().size();
    send_wave(wave);
    ASSERT_TRUE(eventually([&] { return runs().size() > ran + dice() % of_a_wave; }, long_patience))
        << "nothing goes on; seed " << seed;
    if (wave < kills) kill_and_start_one(dice);
  }
  ASSERT_TRUE(eventually([&] { return all_done(); }, long_patience))
      << "seed " << seed << ": " << rows_left() << " rows left, " << waiting() << " waiting, "
      << records("payments") << " of " << bad_.size() << " dead, " << records("old") << " of "
      << old_.size() << " collected: " << get(0, "/v1/sources");

  const auto ran = runs();
  for (const auto* each : {&good_, &bad_}) {
    for (const std::string& id : *each) {
      const auto found = ran.find(id);
      ASSERT_NE(found, ran.end()) << id << " never ran";
      EXPECT_EQ(found->second.size(), 1U) << id << " was run again under another id";
    }
  }
  EXPECT_EQ(message_ids("payments"), bad_);
  EXPECT_EQ(message_ids("old"), old_);
  ASSERT_TRUE(eventually([&] { return client_->ready(copies()) >= bad_.size(); }, long_patience));
  const auto copied = client_->take_ids(copies());
  EXPECT_EQ(std::set<std::string>(copied.begin(), copied.end()), bad_) << "each has its copy";

  constexpr int nowhere = waves * of_a_wave / 4;
  constexpr int sent = waves * of_a_wave - nowhere;
  const auto arrived = client_->take_ids(events());
  EXPECT_EQ(std::set<std::string>(arrived.begin(), arrived.end()).size(), std::size_t{sent})
      << arrived.size() << " arrived; a repeat has the id of the first";
  EXPECT_EQ(records("outbox_nowhere"), nowhere);
  EXPECT_EQ(ask_number("SELECT count(DISTINCT dead_letter) FROM shop.dlo_outbox"), nowhere);
  stop_all();
  if (HasFailure()) std::cerr << "seed " << seed << "\n";
}

// A message that kills its node goes from one to the next; it does not go on for ever (R6, R7).
TEST_F(NodesWithBrokersAreKilled, AMessageThatKillsWhoeverRunsItEndsAsADeadLetter) {
  std::ofstream(file("handle")) << "#!/bin/sh\nbody=$(cat)\ncase \"$body\" in *killer*) echo x >> "
                                << file("runs") << "; kill -9 $PPID ;; esac\n";
  start_all();
  publish(queue_, "k-1", "killer");
  const auto is_dead = [&](std::size_t i) {
    std::ifstream in("/proc/" + std::to_string(running_[i]->pid()) + "/stat");
    std::string text;
    std::getline(in, text);
    const auto end = text.rfind(')');
    return end == std::string::npos || text.substr(end + 2, 1) == "Z";
  };
  int deaths = 0;
  ASSERT_TRUE(eventually(
      [&] {
        for (std::size_t i = 0; i < nodes; ++i) {
          if (!is_dead(i)) continue;
          ++deaths;
          kill(i);
          start(i);
        }
        return records("payments") == 1 || deaths > 20;
      },
      long_patience))
      << deaths;
  EXPECT_LE(deaths, 4)
      << "the first knows it here, the second tells the office, the third has it alone";
  EXPECT_EQ(ask_number("SELECT status FROM dlo.records"), static_cast<int>(Status::quarantined));
  ASSERT_TRUE(eventually([&] { return client_->ready(queue_) == 0; }));
  stop_all();
}

}  // namespace
}  // namespace dlo::testing
