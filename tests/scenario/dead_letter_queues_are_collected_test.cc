// RabbitMQ's dead-letter queues, drained by `dlo serve`, and sent back from there.
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <signal.h>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/rabbitmq_client.h"
#include "support/rabbitmq_server.h"
#include "support/require.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

constexpr std::chrono::seconds long_patience{240};  // a node on a busy machine takes its time

amqp_basic_properties_t named(const std::string& id) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.message_id = RabbitClient::bytes(id);
  properties.delivery_mode = 2;
  return properties;
}

/// Somebody else's queue with its dead-letter queue, and a server that drains it.
class CollectedQueues : public ::testing::Test {
 protected:
  void on(const std::string& address) {
    address_ = address;
    queue_ = fresh_queue();
    dead_ = queue_ + ".dead";
    client_ = std::make_unique<RabbitClient>(address);
    client_->declare_with_dead_letters(queue_, dead_);
    client_->declare(dead_);
    std::ofstream(data_.path() + "/dlo.yaml")
        << "rabbitmq: {heartbeat: 2s, address: '" << address << "'}\n"
        << "collectors:\n  orders: {rabbitmq: " << dead_ << ", profile: booking}\n";
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    try {
      RabbitClient(address_).remove(queue_);
      RabbitClient(address_).remove(dead_);
    } catch (const std::exception&) {  // the server is gone, and its queues with it
    }
  }
  void serve() {
    server_ = std::make_unique<Running>(
        std::vector<std::string>{"serve", "--data", data_.path() + "/office", "--listen",
                                 "127.0.0.1:0", "--config", data_.path() + "/dlo.yaml"});
    port_ = port_in(server_->read_until("/healthz"));
  }
  [[nodiscard]] std::string get(const std::string& path) const { return http_get(port_, path); }
  [[nodiscard]] int kept() const { return number(get("/v1/sources/orders"), "total"); }
  [[nodiscard]] std::string state() const { return member(get("/v1/sources/orders"), "state"); }
  /// Ids of all that is kept, each as often as it is there.
  [[nodiscard]] std::multiset<std::string> ids() const {
    const Ended file = run_dlo({"export", "--data", data_.path() + "/office"});
    std::multiset<std::string> all;
    for (const std::string& id : all_after(file.out, "\"id\":\"m-")) all.insert(id);
    return all;
  }
  void publish(const std::string& queue, int from, int count) {
    for (int i = from; i < from + count; ++i) {
      const std::string id = "m-" + std::to_string(i);
      client_->publish(queue, named(id), "{\"order\":" + std::to_string(i) + "}");
    }
    (void)client_->ready(queue);  // the answer comes after all of them
  }

  TemporaryDirectory data_;
  std::string address_;
  std::string queue_;
  std::string dead_;
  std::unique_ptr<RabbitClient> client_;
  std::unique_ptr<Running> server_;
  std::uint16_t port_ = 0;
};

TEST_F(CollectedQueues, EndInTheOfficeWithWhatTheirHeadersTell) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  publish(queue_, 0, 5);
  client_->reject(queue_, 5);
  serve();
  ASSERT_TRUE(eventually([&] { return kept() == 5; }, long_patience)) << get("/v1/sources");
  EXPECT_TRUE(eventually([&] { return client_->ready(dead_) == 0; }));
  EXPECT_TRUE(eventually([&] { return state() == "collecting"; })) << get("/v1/sources");
  const std::string source = get("/v1/sources/orders");
  EXPECT_EQ(member(source, "kind"), "collected") << source;
  EXPECT_EQ(member(source, "profile"), "booking") << source;
  const std::string list = get("/v1/dead-letters");
  EXPECT_NE(list.find("dead-lettered it from queue " + queue_ + ": rejected"), std::string::npos)
      << list;
  const std::string one = get("/v1/dead-letters/" + member(list, "id"));
  EXPECT_NE(one.find("\"from\":\"" + dead_ + "\""), std::string::npos) << one;
  EXPECT_NE(get("/v1/sources").find("\"queue\":\"" + dead_ + "\""), std::string::npos);
  EXPECT_EQ(run_dlo({"sources", "test", "orders", "--data", data_.path() + "/office"}).code, 0);
  const Ended doctor = run_dlo({"doctor", "--data", data_.path() + "/office"});
  EXPECT_NE(doctor.out.find("sources without trouble: 1"), std::string::npos) << doctor.out;
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(server_->read_until("Stopped.").find("guest:guest"), std::string::npos);
}

TEST_F(CollectedQueues, LoseNothingAndDoubleNothingWhenTheServerIsKilled) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  constexpr int count = 4'000;
  publish(dead_, 0, count);
  int seen = 0;
  for (int round = 0; round < 4 && seen < count; ++round) {
    serve();
    const int before = seen;
    ASSERT_TRUE(eventually([&] { return (seen = kept()) > before; }, long_patience));
    EXPECT_EQ(server_->stop(SIGKILL), -SIGKILL);
  }
  serve();
  ASSERT_TRUE(
      eventually([&] { return kept() >= count && client_->ready(dead_) == 0; }, long_patience))
      << get("/v1/sources");
  EXPECT_EQ(kept(), count);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  const auto all = ids();
  EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), static_cast<std::size_t>(count));
}

TEST_F(CollectedQueues, AreDrainedAgainWhenTheBrokerIsBack) {
  std::unique_ptr<RabbitNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<RabbitNode>());
  on(node->address());
  publish(dead_, 0, 10);
  serve();
  ASSERT_TRUE(eventually([&] { return kept() == 10; }, long_patience)) << get("/v1/sources");
  client_.reset();
  node->remember();
  node->crash();
  ASSERT_TRUE(eventually([&] { return state() == "broker_down"; }, long_patience));
  EXPECT_EQ(get("/readyz").substr(0, 12), "HTTP/1.1 200") << "the office is served all the same";
  EXPECT_NE(run_dlo({"sources", "test", "orders", "--data", data_.path() + "/office"}).code, 0);
  node->start();
  client_ = std::make_unique<RabbitClient>(address_);
  publish(dead_, 10, 10);
  EXPECT_TRUE(eventually([&] { return kept() == 20; }, long_patience)) << get("/v1/sources");
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(CollectedQueues, AreSentBackToTheConsumerThatFailedAndNoOther) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  publish(queue_, 0, 3);
  client_->reject(queue_, 3);
  serve();
  ASSERT_TRUE(eventually([&] { return kept() == 3; }, long_patience)) << get("/v1/sources");
  const std::string office = data_.path() + "/office";
  const Ended planned =
      run_dlo({"replay", "--data", office, "--source", "orders", "--dry-run", "-o", "json"});
  EXPECT_NE(planned.out.find("\"name\":\"x-death\",\"in_sample\":3"), std::string::npos)
      << planned.out;
  const Ended sent = run_dlo({"replay", "--data", office, "--source", "orders", "--watch-for", "1s",
                              "--yes", "--wait", "--reason", "fixed"});
  EXPECT_EQ(sent.code, 0) << sent.out << sent.err;
  EXPECT_EQ(client_->ready(queue_), 3U);
  EXPECT_EQ(client_->ready(dead_), 0U);
  client_->reject(queue_, 1);  // not fixed at all
  ASSERT_TRUE(eventually([&] { return number(get("/v1/sources/orders"), "open") == 1; }))
      << get("/v1/dead-letters?status=all");
  EXPECT_EQ(kept(), 3) << "it is the dead letter it was";
  amqp_envelope_t envelope{};
  RabbitClient(address_).consume(queue_, &envelope);
  std::set<std::string> names;
  const amqp_table_t headers = envelope.message.properties.headers;
  for (int i = 0; i < headers.num_entries; ++i) {
    names.emplace(static_cast<const char*>(headers.entries[i].key.bytes),
                  headers.entries[i].key.len);
  }
  amqp_destroy_envelope(&envelope);
  EXPECT_EQ(names, (std::set<std::string>{"dlo-id", "dlo-replay"}));
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(CollectedQueues, StayDeadIfNothingIsBoundWhereTheyAreSent) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  publish(dead_, 0, 2);
  serve();
  ASSERT_TRUE(eventually([&] { return kept() == 2; }, long_patience)) << get("/v1/sources");
  const std::string office = data_.path() + "/office";
  const auto replay = [&](const std::string& to) {
    return run_dlo({"replay", "--data", office, "--source", "orders", "--to", to, "--watch-for",
                    "1s", "--yes", "--wait", "--reason", "fixed"});
  };
  const Ended unroutable = replay("amqp:no-such-queue-here");
  EXPECT_NE(unroutable.out.find("refused 2"), std::string::npos)
      << unroutable.out << unroutable.err;
  EXPECT_EQ(number(get("/v1/sources/orders"), "open"), 2);
  const Ended back = replay("amqp:" + dead_);
  EXPECT_NE(back.code, 0);
  EXPECT_NE(back.err.find("comes straight back"), std::string::npos) << back.err;
  const Ended there = replay("amqp:/" + queue_);
  EXPECT_EQ(there.code, 0) << there.out << there.err;
  EXPECT_EQ(client_->ready(queue_), 2U);
  EXPECT_EQ(number(get("/v1/sources/orders"), "open"), 0);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST(Scenario, TheDoctorSaysThatABrokerIsAway) {
  const TemporaryDirectory place;
  const std::string config = place.path() + "/dlo.yaml";
  const std::string office = place.path() + "/office";
  std::ofstream(config) << "rabbitmq: {address: 'amqp://dlo:zqsecret@127.0.0.1:1/'}\n"
                        << "collectors:\n  orders: {rabbitmq: orders.dead}\n";
  Running server({"serve", "--data", office, "--listen", "127.0.0.1:0", "--config", config});
  const int port = port_in(server.read_until("/healthz"));
  ASSERT_TRUE(eventually(
      [&] { return member(http_get(port, "/v1/sources/orders"), "state") == "broker_down"; }));
  const Ended doctor = run_dlo({"doctor", "--data", office});
  EXPECT_EQ(doctor.code, 1) << doctor.out;
  EXPECT_NE(doctor.out.find("broker_down"), std::string::npos) << doctor.out;
  EXPECT_NE(doctor.out.find("dlo source test orders"), std::string::npos) << doctor.out;
  EXPECT_EQ(doctor.out.find("zqsecret"), std::string::npos) << doctor.out;
}

}  // namespace
}  // namespace dlo::testing
