// Dead letters on their way back to a RabbitMQ server.
#include <set>

#include "unit/rabbitmq/support.h"

#include "dlo/broker/collected_headers.h"
#include "dlo/broker/rabbitmq/rabbit_outlet.h"

namespace dlo::testing {
namespace {

struct Row {
  const char* text;
  const char* exchange;
  const char* routing_key;
};
class RabbitTargets : public ::testing::TestWithParam<Row> {};

TEST_P(RabbitTargets, AreReadAsPeopleWriteThem) {
  const auto read = must(parse_rabbit_target(GetParam().text));
  EXPECT_EQ(read, (RabbitTarget{GetParam().exchange, GetParam().routing_key}));
}
INSTANTIATE_TEST_SUITE_P(All, RabbitTargets,
                         ::testing::ValuesIn<Row>({{"amqp:orders", "", "orders"},
                                                   {"amqp:shop/order.placed", "shop",
                                                    "order.placed"},
                                                   {"amqp:shop/", "shop", ""},
                                                   {"amqp:shop/a/b", "shop", "a/b"},
                                                   {"amqp:/a/b", "", "a/b"},
                                                   {"amqp:a%2Fb/c%25", "a/b", "c%"},
                                                   {"amqp:a b", "", "a b"}}));

TEST(RabbitTargetTest, WhatNamesNothingIsRefused) {
  for (const std::string& each :
       {std::string("amqp:"), std::string("amqp:/"), std::string("amqp:%"), std::string("amqp:a%2"),
        std::string("amqp:%zz"), std::string("orders"), "amqp:" + std::string(256, 'q')}) {
    const auto read = parse_rabbit_target(each);
    ASSERT_FALSE(read) << each;
    EXPECT_EQ(read.error().code, Code::invalid_argument);
    EXPECT_NE(read.error().detail.find("amqp:EXCHANGE/ROUTING_KEY"), std::string::npos);
  }
}

class RabbitOutletTest : public RabbitTest {
 protected:
  [[nodiscard]] RabbitOutlet outlet() const {
    return RabbitOutlet({shared_rabbitmq()}, {{"shop"}, {"shop.dead"}});
  }
  static Publication collected(const std::string& id, const std::string& origin) {
    auto message = std::make_shared<Message>(*message_of(id));
    message->event_type = "Shop.OrderPlaced";
    message->enqueued_at = noon + Millis{123};
    message->headers.push_back({"tenant", "acme", HeaderType::text});
    message->headers.push_back({std::string(untyped_header), "true", HeaderType::boolean});
    if (!origin.empty()) {
      message->headers.push_back({std::string(origin_header), origin, HeaderType::text});
    }
    Publication made;
    made.message = std::move(message);
    return made;
  }
};

TEST_F(RabbitOutletTest, WhatWasCollectedGoesToTheQueueWhereItFailedAsItWas) {
  RabbitClient client;
  client.declare(queue());
  auto to = outlet();
  EXPECT_TRUE(to.covers("shop"));
  EXPECT_FALSE(to.covers("orders"));
  const auto sent = collected("m1", queue());
  EXPECT_EQ(must(to.send("shop", {&sent, 1})).at(0), std::nullopt);
  amqp_envelope_t envelope{};
  client.consume(queue(), &envelope);
  const auto& properties = envelope.message.properties;
  EXPECT_EQ(properties._flags & AMQP_BASIC_TYPE_FLAG, 0U) << "it had none";
  EXPECT_EQ(properties.delivery_mode, 2);
  ASSERT_EQ(properties.headers.num_entries, 1) << "nothing of ours";
  EXPECT_EQ(std::string(static_cast<const char*>(properties.headers.entries[0].key.bytes),
                        properties.headers.entries[0].key.len),
            "tenant");
  amqp_destroy_envelope(&envelope);
}

TEST_F(RabbitOutletTest, EachIsTakenOrRefusedByItself) {
  RabbitClient client;
  client.declare(queue());
  auto to = outlet();
  const std::vector<Publication> three{collected("m1", queue()), collected("m2", queue() + ".gone"),
                                       collected("m3", "")};
  const auto outcomes = must(to.send("shop", three));
  EXPECT_EQ(outcomes.at(0), std::nullopt);
  ASSERT_TRUE(outcomes.at(1));
  EXPECT_EQ(outcomes.at(1)->code, Code::not_found);
  ASSERT_TRUE(outcomes.at(2));
  EXPECT_NE(outcomes.at(2)->detail.find("--to amqp:QUEUE"), std::string::npos);
  EXPECT_EQ(client.ready(queue()), 1U);
}

TEST_F(RabbitOutletTest, AFullQueueRefusesForGood) {  // RMQ-08
  amqp_table_entry_t entries[2];
  entries[0].key = amqp_cstring_bytes("x-max-length");
  entries[0].value.kind = AMQP_FIELD_KIND_I32;
  entries[0].value.value.i32 = 1;
  entries[1].key = amqp_cstring_bytes("x-overflow");
  entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
  entries[1].value.value.bytes = amqp_cstring_bytes("reject-publish");
  RabbitClient client;
  client.declare(queue(), {2, entries});
  auto to = outlet();
  const std::string target = "amqp:" + queue();
  std::optional<Error> refused;
  for (int i = 0; i < 10 && !refused; ++i) {
    const auto sent = collected("m" + std::to_string(i), "");
    refused = must(to.send(target, {&sent, 1})).at(0);
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::refused);
}

TEST_F(RabbitOutletTest, AnExchangeThatIsNotThereRefusesAndTheNextIsSent) {
  RabbitClient client;
  client.declare(queue());
  auto to = outlet();
  const auto sent = collected("m1", "");
  const auto outcome = must(to.send("amqp:no-such-exchange/key", {&sent, 1})).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, Code::not_found) << outcome->detail;
  EXPECT_TRUE(eventually([&] {
    const auto next = to.send("amqp:" + queue(), {&sent, 1});
    return next && !next->at(0);
  }));
}

TEST(RabbitOutletBatch, OneMessageThatIsTooLargeIsRefusedAndItsNeighboursArrive) {
  std::unique_ptr<RabbitNode> node;
  SKIP_WITHOUT_SERVER(node = std::make_unique<RabbitNode>("max_message_size = 65536\n"));
  RabbitClient client(node->address());
  const std::string queue = fresh_queue();
  client.declare(queue);
  RabbitOutlet to({node->address()}, {});
  std::vector<Publication> all(10);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto message = std::make_shared<Message>(*message_of("m" + std::to_string(i)));
    if (i == 4) message->payload = std::string(200'000, 'x');
    all[i].message = std::move(message);
  }
  const auto outcomes = must(to.send("amqp:" + queue, all));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(outcomes[i].has_value(), i == 4) << i;
  ASSERT_TRUE(outcomes[4]);
  EXPECT_NE(outcomes[4]->detail.find("max_message_size"), std::string::npos) << outcomes[4]->detail;
  std::set<std::string> arrived;  // perhaps twice: under the same id
  for (auto left = client.ready(queue); left > 0; --left) arrived.insert(client.take(queue).id);
  EXPECT_EQ(arrived.size(), all.size() - 1);
}

TEST_F(RabbitOutletTest, WhatWouldComeStraightBackIsRefused) {  // GEN-10
  auto to = outlet();
  EXPECT_FALSE(to.check("amqp:shop.dead"));
  EXPECT_TRUE(to.check("amqp:shop"));
  EXPECT_FALSE(to.check("amqp:"));
  const auto sent = collected("m1", "shop.dead");
  EXPECT_EQ(must(to.send("shop", {&sent, 1})).at(0)->code, Code::invalid_argument);
}

TEST_F(RabbitOutletTest, ACountThatGoesOnIsCarriedByUs) {  // RMQ-21
  RabbitClient client;
  client.declare(queue());
  auto to = outlet();
  auto sent = collected("m1", queue());
  sent.counters.attempt = sent.counters.total = 4;
  EXPECT_EQ(must(to.send("shop", {&sent, 1})).at(0), std::nullopt);
  const auto broker = open(options(QueueKind::existing));
  EXPECT_EQ(take_one(*broker).counters.attempt, 4U);
}

}  // namespace
}  // namespace dlo::testing
