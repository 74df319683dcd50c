// Connections that are refused, lost, or only waited on.
#include "unit/rabbitmq/support.h"

namespace dlo::testing {
namespace {

class RabbitConnectionTest : public RabbitTest {
 protected:
  /// What a source that cannot work says.
  static Error why(const RabbitOptions& options) {
    const auto broker = open(options);
    const auto answer = broker->receive({1, 1s, 0ms}, noon);
    if (answer) throw std::runtime_error("it works");
    const auto published = publication_of("m-1");
    EXPECT_FALSE(broker->publish({&published, 1}, noon));
    return answer.error();
  }
  /// The same, once the server has had the time to say it.
  static Error why_refused(const RabbitOptions& options) {
    Error said;
    EXPECT_TRUE(eventually([&] {
      said = why(options);
      return said.code != Code::unavailable;
    }));
    return said;
  }
  static bool says(const Error& error, const std::string& words) {
    return error.detail.find(words) != std::string::npos;
  }
};

TEST_F(RabbitConnectionTest, AWrongPasswordSaysWhatToDoAndIsNotPrinted) {  // GEN-16
  auto wrong = options();
  const auto place = must(rabbitmq::parse_address(wrong.server.address));
  wrong.server.address = "amqp://guest:hunter2@127.0.0.1:" + std::to_string(place.port);
  const auto error = why_refused(wrong);
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_TRUE(says(error, "user \"guest\"")) << error.detail;
  EXPECT_TRUE(says(error, "rabbitmqctl change_password")) << error.detail;
  EXPECT_FALSE(says(error, "hunter2")) << error.detail;
}

TEST_F(RabbitConnectionTest, AnUnknownVhostIsNamed) {
  auto wrong = options();
  wrong.server.address += "nowhere";
  const auto error = why_refused(wrong);
  EXPECT_EQ(error.code, Code::refused);
  EXPECT_TRUE(says(error, "nowhere") && says(error, "add_vhost")) << error.detail;
}

TEST_F(RabbitConnectionTest, AServerThatIsNotThereIsNamed) {
  auto wrong = options();
  wrong.server.address = "amqp://guest:guest@127.0.0.1:1/";
  const auto error = why(wrong);
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_TRUE(says(error, "127.0.0.1:1")) << error.detail;
}

TEST_F(RabbitConnectionTest, AnUnknownQueueIsNamedAndFoundOnceItIsThere) {
  const auto source = options(QueueKind::existing);
  const auto broker = open(source);
  const auto refused = broker->receive({1, 1s, 0ms}, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::not_found);
  EXPECT_TRUE(says(refused.error(), queue()) && says(refused.error(), "create it"))
      << refused.error().detail;
  RabbitClient().declare(queue());
  EXPECT_TRUE(eventually([&] { return broker->stats(noon).has_value(); }));
}

TEST_F(RabbitConnectionTest, AQueueOfAnotherKindIsUsedAsItIs) {
  RabbitClient().declare(queue());
  EXPECT_TRUE(open(options(QueueKind::quorum))->stats(noon).has_value());
}

TEST_F(RabbitConnectionTest, ADeletedQueueIsNoticed) {
  const auto broker = open(options(QueueKind::classic));
  must(broker->stats(noon));
  RabbitClient().remove(queue());
  // Nobody asks: the server says so. It is made again, as `kind` says.
  const auto sent = publication_of("m-1");
  EXPECT_TRUE(eventually([&] { return broker->publish({&sent, 1}, noon).has_value(); }));
  EXPECT_EQ(take_one(*broker).message->id, "m-1");
}

TEST_F(RabbitConnectionTest, AResultOfALostConnectionSettlesNothing) {  // RMQ-14
  for (const auto kind : {QueueKind::classic, QueueKind::quorum}) {
    SCOPED_TRACE(static_cast<int>(kind));
    TemporaryQueue own;
    auto source = options(kind);
    source.queue = own.name();
    const auto broker = open(source);
    const auto sent = publication_of("m-1");
    must(broker->publish({&sent, 1}, noon));
    const auto first = take_one(*broker);
    broker->cut();
    ASSERT_TRUE(eventually(
        [&] { return settle(*broker, first.lease, ReleasedUnrun{}) == Settled::lease_lost; }));
    Result<std::vector<Delivery>> again = std::vector<Delivery>{};
    ASSERT_TRUE(eventually([&] {
      again = broker->receive({1, 1h, 1s}, noon);
      return again && again->size() == 1;
    }));
    const Delivery& second = again->front();
    EXPECT_EQ(second.message->id, "m-1");
    EXPECT_TRUE(second.may_be_repeat);
    for (const Ending& late :
         {Ending{Completed{}}, Ending{failed(first, noon)}, Ending{DeadLettered{}}}) {
      EXPECT_EQ(settle(*broker, first.lease, late), Settled::lease_lost);
    }
    EXPECT_EQ(must(broker->stats(noon)).leased, 1U);
    EXPECT_EQ(settle(*broker, second.lease, Completed{}), Settled::done);
    const auto left = must(broker->stats(noon));
    EXPECT_EQ(left.ready + left.leased, 0U);
  }
}

TEST_F(RabbitConnectionTest, AQuorumQueuesCountIsOneOfFetchesUnlessAttemptsAreMeant) {  // RMQ-04
  for (const bool attempts : {false, true}) {
    SCOPED_TRACE(attempts);
    TemporaryQueue own;
    auto source = options(QueueKind::quorum);
    source.queue = own.name();
    source.returns_are_attempts = attempts;
    auto broker = open(source);
    const auto sent = publication_of("m-1");
    must(broker->publish({&sent, 1}, noon));
    EXPECT_EQ(take_one(*broker).counters, (Counters{.fetch = 1}));
    broker.reset();
    broker = open(source);
    const auto second = take_one(*broker).counters;
    EXPECT_EQ(second.fetch, 2U);
    EXPECT_EQ(second.attempt, attempts ? 1U : 0U);
  }
}

TEST_F(RabbitConnectionTest, EachMessageHasItsOwnCount) {  // RMQ-01, RMQ-17
  auto broker = open(options());
  const std::vector<Publication> sent = {publication_of("a"), publication_of("b")};
  must(broker->publish(sent, noon));
  for (int failures = 0; failures < 2;) {
    const auto got = take_one(*broker);
    if (got.message->id == "a") {
      settle(*broker, got.lease, failed(got, noon));
      ++failures;
    } else {
      settle(*broker, got.lease, ReleasedUnrun{});
    }
  }
  broker.reset();
  broker = open(options());
  for (int i = 0; i < 2; ++i) {
    const auto got = take_one(*broker);
    EXPECT_EQ(got.counters.failure, got.message->id == "a" ? 2U : 0U) << got.message->id;
  }
}

TEST_F(RabbitConnectionTest, AShorterDelayIsOverFirst) {  // RMQ-05, RMQ-16
  const auto broker = open(options());
  for (const auto& [id, delay] : {std::pair{"minute", Millis{60s}}, {"seconds", Millis{5s}}}) {
    auto sent = publication_of(id);
    sent.delay = delay;
    must(broker->publish({&sent, 1}, noon));
  }
  EXPECT_TRUE(must(broker->receive({2, 1h, 0ms}, noon + 4s)).empty());
  EXPECT_EQ(take_one(*broker, noon + 5s).message->id, "seconds");
  EXPECT_TRUE(must(broker->receive({2, 1h, 0ms}, noon + 59s)).empty());
  EXPECT_EQ(take_one(*broker, noon + 60s).message->id, "minute");
}

TEST_F(RabbitConnectionTest, HeartbeatsGoOnWhileAHandlerRuns) {  // RMQ-12
  auto source = options();
  source.server.heartbeat = 1s;
  const auto broker = open(source);
  const auto sent = publication_of("m-1");
  must(broker->publish({&sent, 1}, noon));
  const auto got = take_one(*broker);
  // The server gives up whoever is silent for two heartbeats; the handler takes six.
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - began > 6s; }));
  EXPECT_EQ(settle(*broker, got.lease, Completed{}), Settled::done);
  EXPECT_EQ(must(broker->stats(noon)).ready, 0U);
  must(broker->publish({&sent, 1}, noon));
}

TEST_F(RabbitConnectionTest, NoMoreThanThePrefetchIsInHand) {
  auto source = options();
  source.prefetch = 3;
  const auto broker = open(source);
  const std::vector<Publication> sent(10, publication_of("m"));
  must(broker->publish(sent, noon));
  EXPECT_EQ(must(broker->receive({100, 1h, 0ms}, noon)).size(), 3U);
  EXPECT_EQ(RabbitClient().ready(queue()), 7U);
  EXPECT_EQ(must(broker->stats(noon)).ready, 7U);
}

TEST_F(RabbitConnectionTest, WhatWentWellMakesRoomWhileOneBeforeItStillRuns) {
  auto source = options();
  source.prefetch = 8;
  const auto broker = open(source);
  std::vector<Publication> sent;
  for (int i = 1; i <= 9; ++i) sent.push_back(publication_of("m-" + std::to_string(i)));
  must(broker->publish(sent, noon));
  std::vector<Delivery> taken;
  while (taken.size() < 8) taken.push_back(take_one(*broker));
  EXPECT_EQ(settle(*broker, taken[1].lease, Completed{}), Settled::done);
  EXPECT_EQ(take_one(*broker).message->id, "m-9");
}

TEST_F(RabbitConnectionTest, WhatDiedIsAcknowledgedBeforeItIsAnswered) {  // R3
  const auto broker = open(options());
  std::vector<Publication> sent;
  for (int i = 1; i <= 20; ++i) sent.push_back(publication_of("m-" + std::to_string(i)));
  must(broker->publish(sent, noon));
  std::vector<Delivery> taken;
  while (taken.size() < 20) taken.push_back(take_one(*broker));
  for (std::size_t i = 1; i < 20; i += 2) {  // behind others that are still running
    EXPECT_EQ(settle(*broker, taken[i].lease, DeadLettered{}), Settled::done);
  }
  broker->cut();
  std::size_t back = 0;
  ASSERT_TRUE(eventually([&] {
    const auto again = broker->receive({20, 1h, 100ms}, noon);
    if (again) back += again->size();
    return back >= 10;
  }));
  EXPECT_EQ(back, 10U);
  EXPECT_EQ(must(broker->stats(noon)).ready, 0U);
}

TEST(RabbitOptionsTest, WhatCannotBeMeantIsRefused) {
  const auto refused = [](auto change) {
    RabbitOptions made;
    made.server.address = "amqp://localhost";
    made.queue = "orders";
    change(made);
    const auto answer = check(made);
    return !answer && answer.error().code == Code::invalid_argument;
  };
  EXPECT_FALSE(refused([](RabbitOptions&) {}));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.queue = ""; }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.queue = std::string(256, 'q'); }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.server.address = ""; }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.server.address = "http://localhost"; }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.server.heartbeat = 0s; }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.server.confirm_within = 0ms; }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.ttl = 0ms; }));
  EXPECT_TRUE(refused([](RabbitOptions& o) { o.ageing = -1ms; }));
}

TEST_F(RabbitConnectionTest, AnImmediateRetryIsARealRequeueForWhoKeepsTheCounts) {  // S1-21
  for (const auto kind : {QueueKind::classic, QueueKind::quorum}) {
    SCOPED_TRACE(static_cast<int>(kind));
    TemporaryQueue own;
    auto source = options(kind);
    source.queue = own.name();
    source.requeues = true;
    const auto broker = open(source);
    for (const char* id : {"m-1", "m-2"}) {
      const auto sent = publication_of(id);
      must(broker->publish({&sent, 1}, noon));
    }
    const auto first = take_one(*broker);
    must(broker->start({&first.lease, 1}, noon));
    EXPECT_EQ(settle(*broker, first.lease, failed(first, noon)), Settled::done);
    Delivery again = take_one(*broker);
    if (again.message->id == "m-2") again = take_one(*broker);  // it was in hand already
    EXPECT_EQ(again.message->id, "m-1");
    EXPECT_TRUE(again.may_be_repeat) << "the server says that it had been handed out";
    EXPECT_EQ(again.counters.attempt, 0U) << "nothing can be left with it";
    EXPECT_EQ(again.message->headers, first.message->headers);
    EXPECT_EQ(settle(*broker, again.lease, Completed{}), Settled::done);
    EXPECT_EQ(must(broker->stats(noon)).completed, 1U);
  }
}

TEST_F(RabbitConnectionTest, WhatHasToWaitOrHasNoIdIsSentAgainWithItsCounts) {
  auto source = options();
  source.requeues = true;
  const auto broker = open(source);
  const auto sent = publication_of("");
  must(broker->publish({&sent, 1}, noon));
  const auto first = take_one(*broker);
  EXPECT_EQ(settle(*broker, first.lease, failed(first, noon)), Settled::done);
  const auto second = take_one(*broker);
  EXPECT_EQ(second.counters.failure, 1U);
  EXPECT_EQ(settle(*broker, second.lease, Completed{}), Settled::done);
}

TEST_F(RabbitConnectionTest, AnEventTypeOfTheSourceStaysHere) {  // S1-22
  auto source = options();
  source.event_type = "PaymentFailed";
  const auto broker = open(source);
  const auto sent = publication_of("m-1");
  must(broker->publish({&sent, 1}, noon));
  const auto first = take_one(*broker);
  EXPECT_EQ(first.message->event_type, "PaymentFailed");
  EXPECT_EQ(settle(*broker, first.lease, failed(first, noon)), Settled::done);  // sent again
  auto plain = options();
  const auto other = open(plain);
  broker->close();
  const auto second = take_one(*other);
  EXPECT_EQ(second.message->event_type, "") << "on the wire it has none";
  EXPECT_EQ(settle(*other, second.lease, Completed{}), Settled::done);
}

}  // namespace
}  // namespace dlo::testing
