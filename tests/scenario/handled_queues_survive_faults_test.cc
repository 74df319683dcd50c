// What can go wrong around a handled queue: nothing is settled that is not safe, intake stops and
// goes on, and the operator sees why.
#include "scenario/handled_queue.h"

namespace dlo::testing {
namespace {

constexpr const char* good = R"({"data":{"booking":7}})";
constexpr const char* bad = R"({"data":{"booking":"bad"}})";

class FaultyQueues : public HandledQueue {
 protected:
  /// Arguments of a queue that takes `most` messages and refuses the next.
  void declare_small(const std::string& queue, int most) {
    amqp_table_entry_t entries[2];
    entries[0].key = amqp_cstring_bytes("x-max-length");
    entries[0].value.kind = AMQP_FIELD_KIND_I32;
    entries[0].value.value.i32 = most;
    entries[1].key = amqp_cstring_bytes("x-overflow");
    entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[1].value.value.bytes = amqp_cstring_bytes("reject-publish");
    client_->declare(queue, {2, entries});
  }
  void publish_safely(const std::string& id, const std::string& body) {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties.message_id = RabbitClient::bytes(id);
    properties.delivery_mode = 2;
    client_->publish(queue_, properties, body);
    (void)client_->ready(queue_);
  }
  bool becomes(const std::string& wanted) {
    return eventually([&] { return state() == wanted; }, long_patience);
  }
};

TEST_F(FaultyQueues, AFullDeadLetterQueueKeepsWhatDiedUntilThereIsRoom) {  // RMQ-08
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  declare_small(dead(), 1);
  configure(", profile: booking, dead_letter_queue: " + dead());
  publish("m-1", bad);
  publish("m-2", bad);
  serve();
  ASSERT_TRUE(becomes("copies_refused")) << source();
  EXPECT_NE(source().find("the queue is full"), std::string::npos) << source();
  EXPECT_EQ(client_->ready(queue_), 0U) << "it is in hand, not acknowledged";
  client_->purge(dead());
  ASSERT_TRUE(becomes("working")) << source();
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) == 1; }));
  EXPECT_EQ(open(), 2);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U) << "both are settled";
}

TEST_F(FaultyQueues, OneThatDeadLettersByItselfMakesNoSecondOne) {  // RMQ-10
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  const TemporaryQueue elsewhere(address_);
  client_->declare(elsewhere.name());
  client_->remove(queue_);
  client_->declare_with_dead_letters(queue_, elsewhere.name());
  configure(", profile: booking");
  publish("m-1", bad);
  serve();
  ASSERT_TRUE(eventually([&] { return open() == 1; }, long_patience)) << source();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U);
  EXPECT_EQ(client_->ready(elsewhere.name()), 0U) << "it was acknowledged, not rejected";
}

TEST_F(FaultyQueues, ADeletedQueueIsSaidAndTakenUpAgainWhenItIsThere) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking");
  publish("m-1", good);
  serve();
  ASSERT_TRUE(eventually([&] { return done() == 1; }, long_patience)) << source();
  client_->remove(queue_);
  ASSERT_TRUE(becomes("broker_down")) << source();
  EXPECT_NE(source().find("create it"), std::string::npos) << source();
  client_->declare(queue_);
  publish("m-2", good);
  ASSERT_TRUE(eventually([&] { return done() == 2; }, long_patience)) << source();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(FaultyQueues, HostileHeadersAndLongErrorsCostOthersNothing) {  // RMQ-03, RMQ-11
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->declare(dead());
  std::ofstream(data_.path() + "/handle")
      << "#!/bin/sh\nbody=$(cat)\necho \"$DLO_MESSAGE_ID $DLO_ATTEMPT\" >> " << data_.path()
      << "/runs\ncase \"$body\" in *bad*) head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1;; "
         "esac\n";
  configure(", profile: booking, dead_letter_queue: " + dead());
  std::vector<amqp_field_value_t> nested(40'000);  // arrays in arrays, nearly a frame of them
  for (auto& each : nested) each.kind = AMQP_FIELD_KIND_ARRAY;
  for (std::size_t i = 0; i + 1 < nested.size(); ++i) nested[i].value.array = {1, &nested[i + 1]};
  std::array<amqp_table_entry_t, 2> headers{};
  headers[0] = {amqp_cstring_bytes("deep"), nested.front()};
  headers[1].key = amqp_cstring_bytes("x-death");
  headers[1].value.kind = AMQP_FIELD_KIND_I64;
  publish("m-1", bad, {2, headers.data()});
  publish("m-2", bad);
  publish("m-3", good);
  serve();
  ASSERT_TRUE(eventually([&] { return open() == 2 && done() == 1; }, long_patience)) << source();
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) == 2; }, long_patience)) << source();
  EXPECT_EQ(state(), "working");
  EXPECT_GT(only_record().size(), 200'000U) << "the office has all that was said";
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(FaultyQueues, ADiskAlarmStopsWhatMustBeCopiedAndNothingElse) {
  std::unique_ptr<RabbitNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<RabbitNode>());
  on(node->address());
  client_->declare(dead());
  configure(", profile: booking, dead_letter_queue: " + dead());
  publish_safely("m-1", bad);
  publish_safely("m-2", good);
  node->ctl("set_disk_free_limit 1000GB");
  ::setenv("DLO_RABBITMQ_CONFIRM_WITHIN", "2s", 1);
  serve();
  ::unsetenv("DLO_RABBITMQ_CONFIRM_WITHIN");
  ASSERT_TRUE(becomes("copies_refused")) << source();
  ASSERT_TRUE(eventually([&] { return done() == 1; }, long_patience)) << source();
  EXPECT_EQ(client_->ready(dead()), 0U);
  EXPECT_TRUE(eventually([&] { return source().find("low on disk") != std::string::npos; }))
      << source();
  node->ctl("set_disk_free_limit 10MB");
  ASSERT_TRUE(becomes("working")) << source();
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) >= 1; }, long_patience));
  EXPECT_EQ(open(), 1);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U);
}

TEST_F(FaultyQueues, AServerThatSaysNothingIsGivenUpAndTakenUpAgain) {  // as behind a cut cable
  std::unique_ptr<RabbitNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<RabbitNode>());
  on(node->address());
  client_->declare(dead());
  configure(", profile: booking, dead_letter_queue: " + dead());
  for (int i = 0; i < 20; ++i) {
    publish_safely("m-" + std::to_string(i), i % 4 == 0 ? bad : R"({"data":"slow"})");
  }
  serve();
  ASSERT_TRUE(eventually([&] { return !run_lines().empty(); }, long_patience)) << source();
  node->freeze();
  std::ofstream(data_.path() + "/go") << "on";  // late results meet a connection that is gone
  ASSERT_TRUE(becomes("broker_down")) << source();
  EXPECT_EQ(get("/readyz").substr(0, 12), "HTTP/1.1 200") << "the office is served all the same";
  node->thaw();
  ASSERT_TRUE(becomes("working")) << source();
  client_ = std::make_unique<RabbitClient>(address_);
  ASSERT_TRUE(eventually([&] { return open() == 5 && client_->ready(queue_) == 0; }, long_patience))
      << source();
  EXPECT_EQ(number(source(), "total"), 5) << "one record each";
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U);
  EXPECT_EQ(runs().size(), 20U);
}

}  // namespace
}  // namespace dlo::testing
