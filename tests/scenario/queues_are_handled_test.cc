// Queues of RabbitMQ whose messages `dlo serve` handles: consumer, retry, dead letter (S1-15 to
// S1-24).
#include "scenario/handled_queue.h"

namespace dlo::testing {
namespace {

using HandledQueues = HandledQueue;

constexpr const char* good = R"({"data":{"booking":7}})";
constexpr const char* bad = R"({"data":{"booking":"bad"}})";
constexpr const char* flaky = R"({"data":{"booking":"flaky"}})";

TEST_F(HandledQueues, ADocumentedConsumerRequeuesTwiceAndGivesUpAtTheThirdFailure) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->declare(dead());
  configure(", profile: booking, event_type: PaymentFailed, dead_letter_queue: " + dead());
  publish("m-1", bad);
  publish("m-2", good);
  serve();
  ASSERT_TRUE(eventually([&] { return open() == 1 && done() == 1; }, long_patience)) << source();
  EXPECT_EQ(runs()["m-1"], 3) << "S1-15: at most three";
  EXPECT_EQ(runs()["m-2"], 1);
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) == 1; }));
  EXPECT_TRUE(eventually([&] { return number(source(), "leased") == 0; })) << source();
  EXPECT_EQ(client_->ready(queue_), 0U) << "S1-20: the original is gone";
  const std::string record = only_record("?form=booking");  // S1-22
  EXPECT_EQ(member(record, "SourceQueue"), "payments") << record;
  EXPECT_EQ(member(record, "EventType"), "PaymentFailed") << record;
  EXPECT_EQ(member(record, "ErrorMessage"), "Balance not found") << record;
  EXPECT_EQ(number(record, "AttemptCount"), 3) << record;
  EXPECT_EQ(member(record, "Resolved"), "false") << record;
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues,
       ACopyGoesToTheDeadLetterQueueAsItCameAndSaysWhy) {  // S1-6, S1-20, RMQ-15, RMQ-20
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->declare(dead());
  configure(", profile: booking, dead_letter_queue: " + dead());
  amqp_table_entry_t entries[2];
  entries[0].key = amqp_cstring_bytes("tenant");
  entries[0].value.kind = AMQP_FIELD_KIND_UTF8;
  entries[0].value.value.bytes = amqp_cstring_bytes("acme");
  entries[1].key = amqp_cstring_bytes("retries");
  entries[1].value.kind = AMQP_FIELD_KIND_I16;
  entries[1].value.value.i16 = -3;
  publish("m-1", bad, {2, entries});
  serve();
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) == 1; }, long_patience)) << source();
  amqp_envelope_t envelope{};
  RabbitClient(address_).consume(dead(), &envelope);
  const auto& properties = envelope.message.properties;
  auto headers = texts_of(properties.headers);
  EXPECT_EQ(headers["tenant"], "acme");
  EXPECT_EQ(headers["retries"], "s") << "a 16-bit number is still one";
  EXPECT_EQ(headers["dlo-error"], "Balance not found");
  EXPECT_EQ(headers["dlo-failed-queue"], queue_);
  EXPECT_EQ(headers["x-original-queue"], queue_);
  EXPECT_EQ(headers["x-error-message"], "Balance not found");
  EXPECT_FALSE(headers.contains("dlo-carried"));
  EXPECT_EQ(properties.delivery_mode, 2) << "persistent, though the original was not";
  EXPECT_EQ(
      std::string(static_cast<const char*>(envelope.message.body.bytes), envelope.message.body.len),
      bad);
  EXPECT_EQ(
      std::string(static_cast<const char*>(properties.message_id.bytes), properties.message_id.len),
      "m-1");
  amqp_destroy_envelope(&envelope);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, ASuccessIsAcknowledgedAndForgetsEarlierFailures) {  // S1-18
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking");
  publish("m-1", flaky);
  serve();
  ASSERT_TRUE(eventually([&] { return done() == 1; }, long_patience)) << source();
  publish("m-1", flaky);
  ASSERT_TRUE(eventually([&] { return done() == 2; }, long_patience)) << source();
  EXPECT_EQ(run_lines(),
            (std::vector<std::string>{"m-1 1", "m-1 2", "m-1 3", "m-1 1", "m-1 2", "m-1 3"}));
  EXPECT_EQ(number(source(), "total"), 0) << source();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U);
}

TEST_F(HandledQueues,
       MalformedEventsAreRecordedUnderBothProfilesAndStallNobody) {  // S1-16, S1-58, I3
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->declare(dead());
  int kept = 0;
  for (const char* profile : {"booking", "booking+safe"}) {
    configure(", profile: " + std::string(profile) +
              ", required: [data], prefetch: 1, dead_letter_queue: " + dead());
    publish("m-1" + std::string(profile), R"({"data":null})");
    publish("m-2" + std::string(profile), "no JSON at all");
    publish("m-3" + std::string(profile), good);
    kept += 2;
    serve();
    ASSERT_TRUE(eventually([&] { return done() == 1 && open() == kept; }, long_patience))
        << profile << source();
    EXPECT_EQ(number(source(), "dropped"), 0) << profile;
    EXPECT_NE(only_record().find("Invalid event format"), std::string::npos) << only_record();
    EXPECT_EQ(number(only_record("?form=booking"), "AttemptCount"), 0) << profile;
    EXPECT_EQ(copies().size(), 2U) << profile;
    EXPECT_EQ(server_->stop(SIGTERM), 0);
    EXPECT_EQ(client_->ready(queue_), 0U);
  }
  EXPECT_EQ(runs().size(), 2U) << "the good ones";
}

TEST_F(HandledQueues, MalformedEventsAreDroppedOnlyIfTheirQueueIsSaidTo) {  // R8, S1-58
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking, invalid: drop, required: [data], prefetch: 1");
  publish("m-1", R"({"data":null})");
  publish("m-2", "no JSON at all");
  publish("m-3", good);
  serve();
  ASSERT_TRUE(eventually([&] { return done() == 1; }, long_patience)) << source();
  EXPECT_TRUE(eventually([&] { return number(source(), "dropped") == 2; })) << source();
  EXPECT_EQ(runs().size(), 1U);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U);
  const Ended trail = run_dlo({"audit", "list", "--data", office(), "-o", "csv"});
  EXPECT_NE(trail.out.find("drop"), std::string::npos) << trail.out;
}

TEST_F(HandledQueues, TriesInPlaceMoveNoCount) {  // S1-17
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking, inner: {retries: 2}");
  publish("m-1", bad);
  serve();
  ASSERT_TRUE(eventually([&] { return open() == 1; }, long_patience)) << source();
  EXPECT_EQ(runs()["m-1"], 9) << "three attempts of three tries";
  EXPECT_EQ(number(only_record("?form=booking"), "AttemptCount"), 3);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, WhatWaitsIsParkedInTheOfficeAndRunsFromThere) {  // RMQ-05, R6
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  client_->declare(dead());
  configure(", profile: quick, dead_letter_queue: " + dead(),
            "profiles: {quick: {base: booking+safe, retry: fixed base=300ms}}\n");
  publish("m-1", bad);
  publish("", flaky);
  serve();
  ASSERT_TRUE(eventually([&] { return number(source(), "retried") >= 1; }, long_patience));
  ASSERT_TRUE(eventually([&] { return open() == 1 && done() == 1; }, long_patience)) << source();
  EXPECT_EQ(runs()["m-1"], 3);
  EXPECT_EQ(number(source(), "received"), 2) << "none was sent back to wait";
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) == 1; }));
  const std::string record = only_record("?form=booking");
  const std::string first = member(record, "FirstAttemptAt");  // measured, as S1-23 would be
  EXPECT_LT(first, member(record, "FailedAt")) << record;
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, WithoutItsDeadLetterQueueNothingIsAcknowledged) {  // RMQ-07, S1-54
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking, dead_letter_queue: " + dead());
  publish("m-1", bad);
  serve();
  ASSERT_TRUE(eventually([&] { return state() == "copies_refused"; }, long_patience)) << source();
  EXPECT_NE(source().find("there is no such queue"), std::string::npos) << source();
  EXPECT_EQ(open(), 1) << "it is in the office all the same";
  EXPECT_NE(run_dlo({"source", "list", "--data", office()}).out.find("copies_refused"),
            std::string::npos);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_TRUE(eventually([&] { return client_->ready(queue_) == 1; }));
  client_->declare(dead());
  serve();
  ASSERT_TRUE(eventually([&] { return client_->ready(dead()) == 1; }, long_patience)) << source();
  ASSERT_TRUE(eventually([&] { return state() == "working"; })) << source();
  EXPECT_EQ(runs()["m-1"], 3) << "it is not run again";
  EXPECT_EQ(number(source(), "total"), 1) << "and is one record";
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  EXPECT_EQ(client_->ready(queue_), 0U);
}

TEST_F(HandledQueues, ArePausedAlsoForTheNextServer) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking");
  serve();
  ASSERT_TRUE(eventually([&] { return state() == "working"; }, long_patience));
  EXPECT_EQ(run_dlo({"source", "pause", "payments", "--data", office()}).code, 0);
  ASSERT_TRUE(eventually([&] { return state() == "paused"; }, long_patience)) << source();
  publish("m-1", good);
  EXPECT_EQ(client_->ready(queue_), 1U);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
  serve();
  EXPECT_EQ(member(source(), "paused"), "true") << source();
  EXPECT_EQ(run_dlo({"source", "resume", "payments", "--data", office()}).code, 0);
  EXPECT_TRUE(eventually([&] { return done() == 1; }, long_patience)) << source();
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, WhatIsSentBackGoesToTheirQueueAndIsTheSameRecord) {
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking");
  publish("m-1", bad);
  serve();
  ASSERT_TRUE(eventually([&] { return open() == 1; }, long_patience)) << source();
  const Ended sent = run_dlo({"replay", "--data", office(), "--source", "payments", "--watch-for",
                              "1s", "--yes", "--reason", "fixed"});
  EXPECT_EQ(sent.code, 0) << sent.out << sent.err;
  ASSERT_TRUE(eventually([&] { return runs()["m-1"] == 6; }, long_patience)) << source();
  ASSERT_TRUE(eventually([&] { return number(only_record(), "occurrence") == 2; }, long_patience))
      << only_record();
  EXPECT_EQ(number(source(), "total"), 1);
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

TEST_F(HandledQueues, SayOfWhatWentWellWhatTheyAreAskedTo) {  // S1-18: info log with BookingId
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking, log_done: [data.BookingId]");
  publish("m-1", R"({"data":{"BookingId":4711}})");
  const std::string log = data_.path() + "/log";
  const Ended ended = run_shell(
      "timeout 20 dlo serve --data " + office() + " --listen 127.0.0.1:0 --config " + data_.path() +
          "/dlo.yaml 2> " + log + " & server=$!; until grep -q BookingId " + log +
          "; do sleep 0.1; kill -0 $server || break; done; kill $server; wait $server; cat " + log,
      data_.path());
  EXPECT_NE(ended.out.find("info: Message processed. MessageId: m-1, BookingId: 4711, Attempt: 1"),
            std::string::npos)
      << ended.out << ended.err;
}

TEST_F(HandledQueues, WhatIsSentBackAndWorksIsSeenToBeCured) {  // R24: verified, not presumed
  SKIP_WITHOUT_SERVER(on(shared_rabbitmq()));
  configure(", profile: booking");
  publish("m-1", bad);
  serve();
  ASSERT_TRUE(eventually([&] { return open() == 1; }, long_patience)) << source();
  const std::string id = member(get("/v1/dead-letters"), "id");
  std::ofstream(data_.path() + "/handle") << "#!/bin/sh\ncat > /dev/null\n";
  const Ended sent = run_dlo({"replay", "--data", office(), "--source", "payments", "--watch-for",
                              "1h", "--yes", "--reason", "fixed"});
  EXPECT_EQ(sent.code, 0) << sent.out << sent.err;
  const auto record = [&] { return get("/v1/dead-letters/" + id); };
  ASSERT_TRUE(eventually([&] { return member(record(), "status") == "resolved"; }, long_patience))
      << record();
  EXPECT_EQ(member(record(), "how"), "replayed") << record();
  ASSERT_TRUE(eventually([&] { return member(get("/v1/jobs"), "state") == "done"; }, long_patience))
      << "nobody waits for the end of its watch: " << get("/v1/jobs");
  EXPECT_EQ(server_->stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dlo::testing
