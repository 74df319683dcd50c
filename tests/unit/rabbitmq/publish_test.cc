// What RabbitMQ takes, and what it does not.
#include <thread>

#include "unit/rabbitmq/support.h"

namespace dlo::testing {
namespace {

class RabbitPublishTest : public RabbitTest {
 protected:
  void SetUp() override {
    RabbitTest::SetUp();
    if (IsSkipped()) return;
    server_.address = shared_rabbitmq();
    publisher_ = std::make_unique<RabbitPublisher>(server_);
  }
  std::vector<std::optional<Error>> send(const std::vector<RabbitPost>& posts) {
    return must(publisher_->send(posts));
  }
  void declare_full(std::int64_t room) {
    amqp_field_value_t length{};
    length.kind = AMQP_FIELD_KIND_I64;
    length.value.i64 = room;
    amqp_field_value_t overflow{};
    overflow.kind = AMQP_FIELD_KIND_UTF8;
    overflow.value.bytes = amqp_cstring_bytes("reject-publish");
    std::array<amqp_table_entry_t, 2> entries = {
        amqp_table_entry_t{amqp_cstring_bytes("x-max-length"), length},
        amqp_table_entry_t{amqp_cstring_bytes("x-overflow"), overflow}};
    RabbitClient().declare(queue(), {2, entries.data()});
  }

  RabbitServer server_;
  std::unique_ptr<RabbitPublisher> publisher_;
};

TEST_F(RabbitPublishTest, WhatNobodyCanHaveIsAnErrorThatNamesTheQueue) {  // RMQ-07
  const auto outcome = send({{"", "no-such-queue", message_of("m-1")}}).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, Code::not_found);
  EXPECT_NE(outcome->detail.find("no-such-queue"), std::string::npos) << outcome->detail;
}

TEST_F(RabbitPublishTest, AnExchangeWithoutABindingIsAnErrorToo) {
  const auto outcome = send({{"amq.direct", "nowhere", message_of("m-1")}}).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, Code::not_found);
  EXPECT_NE(outcome->detail.find("amq.direct"), std::string::npos) << outcome->detail;
}

TEST_F(RabbitPublishTest, AMissingExchangeIsNamedAndTheNextCallWorks) {
  RabbitClient().declare(queue());
  const auto outcome = send({{"no-such-exchange", "k", message_of("m-1")}}).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, Code::not_found);
  EXPECT_NE(outcome->detail.find("no-such-exchange"), std::string::npos) << outcome->detail;
  EXPECT_FALSE(send({{"", queue(), message_of("m-2")}}).at(0));
}

TEST_F(RabbitPublishTest, InABatchEachHasItsOwnOutcome) {  // RMQ-09
  RabbitClient().declare(queue());
  std::vector<RabbitPost> posts;
  for (int i = 0; i < 600; ++i) {
    posts.push_back({"", i % 3 == 0 ? "no-such-queue" : queue(), message_of("same id")});
  }
  const auto outcomes = send(posts);
  for (std::size_t i = 0; i < posts.size(); ++i) {
    EXPECT_EQ(outcomes[i].has_value(), i % 3 == 0) << i;
  }
  EXPECT_EQ(RabbitClient().ready(queue()), 400U);
}

TEST_F(RabbitPublishTest, AFullQueueRefusesAndTheSourceKeepsTheMessage) {  // RMQ-08
  declare_full(1);
  EXPECT_FALSE(send({{"", queue(), message_of("first")}}).at(0));
  const auto outcome = send({{"", queue(), message_of("second")}}).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, Code::full);
  EXPECT_NE(outcome->detail.find(queue()), std::string::npos) << outcome->detail;
}

TEST_F(RabbitPublishTest, AFailedMessageThatCannotBeSentAgainStaysInHand) {  // RMQ-08
  declare_full(1);
  auto source = options(QueueKind::existing);
  source.prefetch = 1;
  auto broker = open(source);
  ASSERT_FALSE(send({{"", queue(), message_of("first")}}).at(0));
  auto first = take_one(*broker);
  ASSERT_FALSE(send({{"", queue(), message_of("fills the queue")}}).at(0));
  EXPECT_EQ(settle(*broker, first.lease, failed(first, noon)), Settled::done);
  EXPECT_NE(must(broker->stats(noon)).trouble.find("full"), std::string::npos);
  first = take_one(*broker);
  EXPECT_EQ(first.message->id, "first");
  EXPECT_EQ(first.counters.failure, 1U);
  EXPECT_EQ(settle(*broker, first.lease, Completed{}), Settled::done);
  EXPECT_EQ(take_one(*broker).message->id, "fills the queue");
}

TEST_F(RabbitPublishTest, HeadersTooLargeAreRefusedAndTheConnectionSurvives) {  // RMQ-11
  RabbitClient().declare(queue());
  auto large = std::make_shared<Message>();
  large->headers = {{"stack", std::string(300'000, 'x'), HeaderType::text}};
  const auto outcomes = send(
      {{"", queue(), message_of("m-1")}, {"", queue(), large}, {"", queue(), message_of("m-3")}});
  EXPECT_FALSE(outcomes[0]);
  ASSERT_TRUE(outcomes[1]);
  EXPECT_EQ(outcomes[1]->code, Code::invalid_argument);
  EXPECT_NE(outcomes[1]->detail.find("publication 1 of 3"), std::string::npos);
  EXPECT_FALSE(outcomes[2]);
  EXPECT_EQ(RabbitClient().ready(queue()), 2U);
}

TEST_F(RabbitPublishTest, AnErrorTextTooLongForAFrameIsCut) {  // RMQ-11
  auto broker = open(options());
  const auto sent = publication_of("m-1");
  must(broker->publish({&sent, 1}, noon));
  auto got = take_one(*broker);
  auto ending = failed(got, noon);
  ending.error = std::string(400'000, 'e');
  EXPECT_EQ(settle(*broker, got.lease, ending), Settled::done);
  got = take_one(*broker);
  EXPECT_EQ(got.counters.failure, 1U);
  EXPECT_EQ(got.last_error, std::string(4096, 'e'));
  EXPECT_TRUE(must(broker->stats(noon)).trouble.empty());
}

TEST_F(RabbitPublishTest, EmptyAndHugeBodiesArrive) {
  auto broker = open(options());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{262'136},
                                 std::size_t{262'137}, (std::size_t{16} << 20U) + 1}) {
    std::string body(size, '\0');
    if (size > 0) body.back() = 'x';
    Publication sent;
    sent.message = message_of("m-" + std::to_string(size), body);
    must(broker->publish({&sent, 1}, noon));
    const auto got = take_one(*broker);
    ASSERT_TRUE(got.message->payload.has_value());
    EXPECT_TRUE(*got.message->payload == body) << size;
    settle(*broker, got.lease, Completed{});
  }
}

TEST_F(RabbitPublishTest, ManyThreadsShareAConnection) {
  RabbitClient().declare(queue());
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int round = 0; round < 5; ++round) {
          const std::vector<RabbitPost> posts(100, {"", queue(), message_of("m")});
          for (const auto& outcome : send(posts)) refused += outcome.has_value();
        }
      });
    }
  }
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(RabbitClient().ready(queue()), 4'000U);
}

TEST_F(RabbitPublishTest, WhatIsPublishedIsPersistent) {  // RMQ-20
  RabbitClient client;
  client.declare(queue());
  EXPECT_FALSE(send({{"", queue(), message_of("m-1")}}).at(0));
  amqp_envelope_t envelope{};
  client.consume(queue(), &envelope);
  EXPECT_EQ(envelope.message.properties.delivery_mode, AMQP_DELIVERY_PERSISTENT);
  amqp_destroy_envelope(&envelope);
}

}  // namespace
}  // namespace dlo::testing
