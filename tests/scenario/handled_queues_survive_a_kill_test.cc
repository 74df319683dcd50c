// Queues of RabbitMQ that are handled here, while somebody pulls plugs.
#include "scenario/handled_queue.h"

namespace dlo::testing {
namespace {

using HandledQueues = HandledQueue;

std::string body_of(int i) {
  return std::string("{\"data\":\"") + (i % 3 == 0 ? "bad" : i % 3 == 1 ? "flaky" : "good") + "\"}";
}

TEST_F(HandledQueues, LoseNothingAndDoubleNoRecordWhenTheServerIsKilled) {  // GEN-01, S1-56
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->declare(dead());
  configure(", profile: quick, dead_letter_queue: " + dead(),
            "profiles: {quick: {base: booking+safe, retry: fixed base=100ms}}\n");
  constexpr int count = 150;
  std::set<std::string> all;
  std::set<std::string> bad;
  std::set<std::string> flaky;  // may die as well, if it was always them who ran when it was killed
  for (int i = 0; i < count; ++i) {
    const std::string id = "m-" + std::to_string(i);
    publish(id, body_of(i));
    all.insert(id);
    if (i % 3 == 0) bad.insert(id);
    if (i % 3 == 1) flaky.insert(id);
  }
  for (int round = 1; round <= 3; ++round) {
    serve();
    const std::size_t before = run_lines().size();
    ASSERT_TRUE(eventually([&] { return run_lines().size() >= before + 40; }, long_patience))
        << source();
    EXPECT_EQ(server_->stop(SIGKILL), -SIGKILL);
  }
  serve();
  std::set<std::string> ran;
  const auto everybody_ran = [&] {
    for (const auto& each : runs()) ran.insert(each.first);
    return ran == all;
  };
  // Who is flaky may be over without a record, if kills were two of its three attempts.
  ASSERT_TRUE(eventually(
      [&] {
        const std::string now = source();
        return number(now, "open") >= static_cast<int>(bad.size()) && number(now, "waiting") == 0 &&
               number(now, "leased") == 0 && client_->ready(queue_) == 0 && everybody_ran();
      },
      long_patience))
      << source();
  const std::set<std::string> copied = copies();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  const Ended file = run_dlo({"export", "--data", office(), "--status", "open"});
  std::set<std::string> records;
  for (const std::string& id : all_after(file.out, "\"id\":\"m-")) {
    EXPECT_TRUE(records.insert("m-" + id).second) << "m-" << id << " is there twice";
  }
  EXPECT_TRUE(std::ranges::includes(records, bad));
  // R7: one that was alone when the server died twice is given up, whoever killed it.
  const Ended suspects = run_dlo({"export", "--data", office(), "--status", "quarantined"});
  for (const std::string& id : all_after(suspects.out, "\"id\":\"m-")) flaky.insert("m-" + id);
  for (const std::string& each : records) EXPECT_TRUE(bad.contains(each) || flaky.contains(each));
  EXPECT_EQ(copied, records) << "each has a copy, perhaps two";
}

TEST_F(HandledQueues, LoseNoneOfManyIdenticalMessagesWithoutIds) {  // R3: in doubt there are two
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: quick", "profiles: {quick: {base: booking+safe, retry: fixed base=1s}}\n");
  constexpr int count = 60;
  for (int i = 0; i < count; ++i) publish("", "{\"data\":\"bad\"}");
  for (int round = 1; round <= 3; ++round) {
    serve();
    const std::size_t before = run_lines().size();
    ASSERT_TRUE(eventually([&] { return run_lines().size() >= before + 12; }, long_patience))
        << source();
    EXPECT_EQ(server_->stop(SIGKILL), -SIGKILL);
  }
  serve();
  ASSERT_TRUE(eventually(
      [&] {
        const std::string now = source();
        return client_->ready(queue_) == 0 && number(now, "leased") == 0 &&
               number(now, "total") >= count;
      },
      long_patience))
      << source() << client_->ready(queue_);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, GoOnWhenTheBrokerIsBack) {  // the broker is killed in the middle
  std::unique_ptr<RabbitNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<RabbitNode>());
  on(node->address());
  client_->declare(dead());
  configure(", profile: booking, dead_letter_queue: " + dead());
  node->remember();
  constexpr int count = 60;
  std::set<std::string> bad;
  for (int i = 0; i < count; ++i) {
    const std::string id = "m-" + std::to_string(i);
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties.message_id = RabbitClient::bytes(id);
    properties.delivery_mode = 2;
    client_->publish(queue_, properties, body_of(i));
    if (i % 3 == 0) bad.insert(id);
  }
  ASSERT_TRUE(eventually([&] { return client_->ready(queue_) == std::uint32_t{count}; }));
  node->remember();
  serve();
  ASSERT_TRUE(eventually([&] { return run_lines().size() >= 20; }, long_patience)) << source();
  client_.reset();
  node->crash();
  ASSERT_TRUE(eventually([&] { return state() == "broker_down"; }, long_patience)) << source();
  EXPECT_EQ(get("/readyz").substr(0, 12), "HTTP/1.1 200") << "the office is served all the same";
  node->start();
  client_ = std::make_unique<RabbitClient>(address_);
  ASSERT_TRUE(eventually(
      [&] {
        return open() == static_cast<int>(bad.size()) && runs().size() == count &&
               client_->ready(queue_) == 0 && number(source(), "leased") == 0;
      },
      long_patience))
      << source() << runs().size();
  EXPECT_EQ(number(source(), "total"), static_cast<int>(bad.size())) << "one record each";
  EXPECT_GE(client_->ready(dead()), bad.size());
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, GiveBackWhatIsNotFinishedWhenTheServerIsStopped) {  // I8, GEN-20
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking", "server: {drain: 1s}\n");
  for (int i = 0; i < 20; ++i) publish("m-" + std::to_string(i), "slow");
  serve();
  ASSERT_TRUE(eventually([&] { return run_lines().size() == 8; }, long_patience)) << source();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_TRUE(eventually([&] { return client_->ready(queue_) == 20; }));
  std::ofstream(data_.path() + "/go") << "now";
  serve();
  ASSERT_TRUE(eventually([&] { return done() == 20; }, long_patience)) << source();
  for (const std::string& line : run_lines()) {
    EXPECT_TRUE(line.ends_with(" 1")) << "it cost no attempt: " << line;
  }
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
