// An outbox on a real server, towards an outlet that does as it is told.
#include "dlo/outbox/relay.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "unit/outbox/support.h"

namespace dlo::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST_F(OutboxTest, ARowIsSentAsItIsAndMarked) {
  run("INSERT INTO dlo_outbox (event_type, key, payload, headers, message_id, correlation_id, "
      "created_at) VALUES ('PaymentSucceeded', 'c1', '{\"n\": 1.50}', '{\"tenant\": \"acme\"}', "
      "'00000000-0000-0000-0000-000000000007', 'corr', '2026-03-01 12:00:00.5+00')");
  drain();
  EXPECT_EQ(pending(), 0);
  ASSERT_EQ(outlet_.posts().size(), 1U);
  const outbox::Post& post = outlet_.posts()[0];
  EXPECT_EQ(post.target, "amqp:events/PaymentSucceeded");
  const Message& message = *post.message;
  EXPECT_EQ(message.id, "00000000-0000-0000-0000-000000000007");
  EXPECT_EQ(message.event_type, "PaymentSucceeded");
  EXPECT_EQ(message.key, "c1");
  EXPECT_EQ(message.payload, "{\"n\": 1.50}");
  EXPECT_EQ(message.correlation_id, "corr");
  EXPECT_EQ(message.enqueued_at, noon) << "whole seconds";
  EXPECT_EQ(find_header(message.headers, "tenant")->value, "acme");
  const RelayStatus status = relay().status();
  EXPECT_EQ(status.state, RelayState::relaying);
  EXPECT_EQ(status.published, 1U);
  EXPECT_EQ(kept().size(), 0U);
}

TEST_F(OutboxTest, RowsOfOneKeyGoOutInTheirOrderAndManyKeysSideBySide) {
  for (int i = 0; i < 10; ++i) {
    for (const char* key : {"a", "b", "c"}) put(key + std::to_string(i), key);
  }
  for (int i = 0; i < 20; ++i) put("free" + std::to_string(i));
  drain();
  EXPECT_EQ(pending(), 0);
  EXPECT_GE(outlet_.largest_call(), 23U) << "all without a key, and one of each";
  for (const char key : {'a', 'b', 'c'}) {
    std::vector<std::string> of_key;
    for (const std::string& each : outlet_.taken()) {
      if (each[1] == key) of_key.push_back(each);
    }
    EXPECT_EQ(of_key.size(), 10U);
    EXPECT_TRUE(std::is_sorted(of_key.begin(), of_key.end()));
  }
}

TEST_F(OutboxTest, ARowCommittedLateIsSentWhenItIsSeen) {  // SQL-10
  postgres::Connection slow(schema_->address(), "");
  slow.run("BEGIN; INSERT INTO " + outbox::quoted(schema_->name()) +
           ".dlo_outbox (event_type, payload) VALUES ('BookingCreated', '\"late\"')");
  put("early");
  drain();
  EXPECT_THAT(outlet_.taken(), ElementsAre(json("early")));
  slow.run("COMMIT");
  drain();
  EXPECT_THAT(outlet_.taken(), ElementsAre(json("early"), json("late")));
  EXPECT_EQ(count("id = 1 AND published_at IS NOT NULL"), 1) << "the lower id came later";
}

TEST_F(OutboxTest, WhatIsNotToBeSentYetWaits) {
  run("INSERT INTO dlo_outbox (event_type, payload, not_before) VALUES ('T', '\"tomorrow\"', "
      "'2026-03-02 12:00:00+00')");
  drain();
  EXPECT_TRUE(outlet_.taken().empty());
  clock_.advance(std::chrono::hours{25});
  drain();
  EXPECT_THAT(outlet_.taken(), ElementsAre(json("tomorrow")));
}

TEST_F(OutboxTest, AHundredBadRowsStarveNobody) {  // I10, R1-6
  for (int i = 0; i < 120; ++i)
    put("bad" + std::to_string(i), i % 2 == 0 ? "k" + std::to_string(i) : "");
  for (int i = 0; i < 5; ++i) put("good" + std::to_string(i));
  outlet_.refuse = [](const outbox::Post& post) {
    return post.message->payload->find("bad") == std::string::npos ? std::nullopt
                                                                   : std::optional(no_room());
  };
  RelayOptions small = options();
  small.batch = 10;
  relay_ = std::make_unique<Relay>(small, parts());
  drain();
  EXPECT_EQ(outlet_.taken().size(), 5U);
  EXPECT_EQ(relay().status().waiting, 120U);
}

TEST_F(OutboxTest, AFailingRowHoldsBackItsOwnKeyOnly) {
  put("head", "a");
  put("second", "a");
  put("other", "b");
  bool open = false;
  outlet_.refuse = [&](const outbox::Post& post) {
    return open || post.message->payload != json("head") ? std::nullopt : std::optional(no_room());
  };
  drain();
  put("third", "a");
  drain();
  EXPECT_THAT(outlet_.taken(), ElementsAre(json("other")));
  open = true;
  clock_.advance(Millis{10'000});
  drain();
  EXPECT_THAT(outlet_.taken(),
              ElementsAre(json("other"), json("head"), json("second"), json("third")));
}

TEST_F(OutboxTest, AThirdFailureIsFollowedByADeadLetterAndTheRowIsMarked) {  // S1-2, S1-3
  put("lost", "", "PaymentFailed");
  outlet_.refuse = [](const outbox::Post&) { return std::optional(no_room()); };
  for (int i = 0; i < 3; ++i) {
    drain();
    EXPECT_EQ(
        count("attempts = " + std::to_string(i + 1) + " AND last_error = 'the queue is full'"), 1);
    EXPECT_TRUE(kept().empty()) << "it dies at the poll after the third";
    clock_.advance(Millis{10'000});
  }
  drain();
  EXPECT_EQ(outlet_.tries(json("lost")), 3);
  const auto all = kept();
  ASSERT_EQ(all.size(), 1U);
  const DeadLetter& record = all[0].record;
  EXPECT_EQ(record.message->source, "outbox_PaymentFailed");
  EXPECT_EQ(record.message->event_type, "PaymentFailed");
  EXPECT_EQ(record.message->payload, json("lost"));
  EXPECT_EQ(record.failure.text, "the queue is full");
  EXPECT_EQ(record.counters.failure, 3U);
  EXPECT_EQ(record.reason, "MaxPublishAttemptsExceeded");
  EXPECT_EQ(record.handler, "outbox shop");
  EXPECT_THAT(record.metadata, HasSubstr("\"row\":\"1\""));
  EXPECT_EQ(all[0].attempts.size(), 3U);
  EXPECT_FALSE(record.source_unsettled);
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(count("dead_letter = '" + to_string(record.id) + "'"), 1);
  EXPECT_EQ(relay().status().dead, 1U);
}

TEST_F(OutboxTest, AttemptsAreCountedInTheRowAndOutliveTheRelay) {
  put("lost");
  outlet_.refuse = [](const outbox::Post&) { return std::optional(no_room()); };
  for (int i = 0; i < 4; ++i) {
    drain();
    kill();
    drain();
    EXPECT_EQ(outlet_.tries(json("lost")), std::min(i + 1, 3)) << "a new relay knows what is due";
    clock_.advance(Millis{10'000});
  }
  EXPECT_EQ(outlet_.tries(json("lost")), 3);
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].attempts.size(), 3U);
}

TEST_F(OutboxTest, WithoutAColumnForThemAttemptsAreCountedInTheOffice) {
  run("ALTER TABLE dlo_outbox DROP COLUMN attempts");
  put("lost", "k");
  put("behind", "k");
  outlet_.refuse = [](const outbox::Post& post) {
    return post.message->payload == "\"lost\"" ? std::optional(no_room()) : std::nullopt;
  };
  for (int i = 0; i < 4; ++i) {
    drain();
    kill();
    drain();
    clock_.advance(Millis{10'000});
  }
  drain();
  EXPECT_EQ(outlet_.tries(json("lost")), 3);
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].record.counters.failure, 3U);
  EXPECT_EQ(pending(), 0);
  EXPECT_THAT(outlet_.taken(), ElementsAre(json("behind")));
  EXPECT_TRUE(must(office_.extras().ledger->documents("outbox.shop", "", 10)).empty())
      << "nobody needs the note any more";
}

TEST_F(OutboxTest, ABrokerThatIsDownCostsNoAttempt) {  // R21
  put("one");
  outlet_.down = Error{Code::unavailable, "test", "nobody listens there"};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(relay().round(), Relay::After::trouble);
  EXPECT_EQ(count("attempts = 0"), 1);
  EXPECT_EQ(relay().status().state, RelayState::broker_down);
  EXPECT_EQ(relay().status().trouble, "nobody listens there");
  EXPECT_EQ(told_.size(), 1U) << "said once";
  outlet_.down.reset();
  drain();
  EXPECT_EQ(relay().status().state, RelayState::relaying);
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_EQ(pending(), 0);
}

TEST_F(OutboxTest, WhatMayBeANeighboursFaultIsTriedAloneBeforeItCounts) {
  for (int i = 0; i < 5; ++i) put("good" + std::to_string(i));
  put("huge");
  bool poisoned = false;
  std::size_t in_call = 0;
  outlet_.refuse = [&](const outbox::Post& post) -> std::optional<Error> {
    ++in_call;
    if (post.message->payload == json("huge")) poisoned = true;
    if (poisoned || in_call == 1) return Error{Code::timed_out, "test", "the channel was closed"};
    return std::nullopt;
  };
  outlet_.before_answer = [&] {
    in_call = 1;
    poisoned = false;
  };
  drain();
  EXPECT_EQ(outlet_.distinct().size(), 5U) << "all but the one at fault";
  EXPECT_EQ(count("attempts = 1"), 1);
  EXPECT_EQ(count("attempts = 0 AND published_at IS NULL"), 0);
}

TEST_F(OutboxTest, AMarkThatFailsIsMadeLaterAndNothingIsSentAgain) {
  put("one");
  outlet_.before_answer = [&] {
    run("SELECT pg_terminate_backend(" + std::to_string(relay().process()) + ", 5000)");
    outlet_.before_answer = nullptr;
  };
  EXPECT_EQ(relay().round(), Relay::After::trouble);
  EXPECT_EQ(relay().status().state, RelayState::database_down);
  EXPECT_EQ(pending(), 1);
  EXPECT_TRUE(eventually([&] { return relay().round() != Relay::After::trouble; }));
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(outlet_.taken().size(), 1U);
}

TEST_F(OutboxTest, ACrashBeforeTheMarkSendsAgainUnderTheSameId) {
  put("one");
  outlet_.before_answer = [&] {
    run("SELECT pg_terminate_backend(" + std::to_string(relay().process()) + ", 5000)");
    outlet_.before_answer = nullptr;
  };
  (void)relay().round();
  kill();
  drain();
  EXPECT_EQ(pending(), 0);
  ASSERT_EQ(outlet_.posts().size(), 2U);
  EXPECT_EQ(*outlet_.posts()[0].message, *outlet_.posts()[1].message);
}

TEST_F(OutboxTest, ARowThatSomebodyHasLockedHoldsUpNobodyAndIsMarkedLater) {
  put("locked");
  put("free");
  postgres::Connection other(schema_->address(), "");
  other.run("BEGIN; SELECT * FROM " + outbox::quoted(schema_->name()) +
            ".dlo_outbox WHERE id = 1 FOR UPDATE");
  drain(5);
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(outlet_.taken().size(), 2U);
  put("more");
  drain(5);
  EXPECT_EQ(outlet_.taken().size(), 3U) << "what is locked is not sent again";
  other.run("COMMIT");
  drain(5);
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(outlet_.taken().size(), 3U);
}

TEST_F(OutboxTest, TwoRelaysShareTheKeysAndSendNothingTwice) {
  relay();
  Relay second(options(), parts());
  ASSERT_TRUE(eventually([&] {
    (void)relay().round();
    (void)second.round();
    return relay().status().share == 32 && second.status().share == 32;
  })) << relay().status().share
      << " and " << second.status().share;
  for (int i = 0; i < 200; ++i) put("r" + std::to_string(i), "k" + std::to_string(i % 40));
  for (int i = 0; i < 50 && pending() > 0; ++i) {
    (void)relay().round();
    (void)second.round();
  }
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(outlet_.taken().size(), 200U);
  EXPECT_EQ(outlet_.distinct().size(), 200U);
  EXPECT_GT(relay().status().published, 20U);
  EXPECT_GT(second.status().published, 20U);
  kill();
  EXPECT_TRUE(eventually([&] {
    (void)second.round();
    return second.status().share == 64;
  })) << "it takes over what the other had";
}

TEST_F(OutboxTest, ATableThatIsNotThereIsSaidAndLookedForAgain) {
  run("ALTER TABLE dlo_outbox RENAME TO elsewhere");
  EXPECT_EQ(relay().round(), Relay::After::trouble);
  EXPECT_THAT(relay().status().trouble, HasSubstr("there is no table"));
  run("ALTER TABLE elsewhere RENAME TO dlo_outbox");
  EXPECT_TRUE(eventually([&] { return relay().round() == Relay::After::idle; }));
  EXPECT_EQ(relay().status().trouble, "");
}

TEST_F(OutboxTest, AnExpiredRowIsADeadLetterAndNotSent) {
  run("INSERT INTO dlo_outbox (event_type, payload, expires_at) VALUES ('T', '\"old\"', "
      "'2026-03-01 11:00:00+00')");
  drain();
  EXPECT_TRUE(outlet_.taken().empty());
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].record.reason, "Expired");
  EXPECT_EQ(pending(), 0);
}

TEST_F(OutboxTest, ItRunsByItselfUntilItIsStopped) {
  RelayOptions quick = options();
  quick.poll = Millis{5};
  relay_ = std::make_unique<Relay>(quick, parts());
  relay().start();
  for (int i = 0; i < 20; ++i) put("m" + std::to_string(i));
  EXPECT_TRUE(eventually([&] { return relay().status().published == 20; }));
  EXPECT_TRUE(eventually([&] { return pending() == 0; }));
  relay().stop();
  EXPECT_EQ(relay().status().state, RelayState::stopped);
}

}  // namespace
}  // namespace dlo::testing
