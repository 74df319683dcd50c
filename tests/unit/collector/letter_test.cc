#include "dlo/collector/letter.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "unit/collector/wire.h"

#include "dlo/core/encoding.h"

namespace dlo::testing {
namespace {

using collector::Dialect;
using collector::Letter;
using collector::read_letter;

constexpr std::uint64_t morning = 1'772'352'000;  // four hours before noon
constexpr TimePoint at_morning{std::chrono::seconds{morning}};

Header text(const std::string& name, const std::string& value) {
  return {name, value, HeaderType::text};
}
Header number(const std::string& name, const std::string& value) {
  return {name, value, HeaderType::integer};
}

/// What is expected of one message; times are in x-death rows only.
struct Row {
  const char* name;
  Headers headers;
  Dialect dialect;
  const char* type;
  const char* error;
  const char* queue;
  const char* exchange;
  const char* routing_key;
  std::uint32_t attempts;
  const char* found_in = "dead";
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class LetterTable : public ::testing::TestWithParam<Row> {};

TEST_P(LetterTable, SaysWhatTheHeadersTell) {  // RMQ-02, RMQ-03, RMQ-19
  const Row& row = GetParam();
  const Letter letter = read_letter(row.headers, {row.found_in, "", noon});
  EXPECT_EQ(letter.dialect, row.dialect);
  EXPECT_EQ(letter.failure.type, row.type);
  EXPECT_EQ(letter.failure.text, row.error);
  EXPECT_EQ(letter.queue, row.queue);
  EXPECT_EQ(letter.exchange, row.exchange);
  EXPECT_EQ(letter.routing_key, row.routing_key);
  EXPECT_EQ(letter.attempts, row.attempts);
}

// clang-format off: a table is read in rows
const Header rejected = wire::x_death({wire::death("orders", "rejected", 3, morning)});
const char* const from_orders = "RabbitMQ dead-lettered it from queue orders: rejected";
const char* const nothing = "It was in dead-letter queue dead; nothing tells why";
INSTANTIATE_TEST_SUITE_P(Dialects, LetterTable, ::testing::ValuesIn<Row>({
    {"NothingAtAll", {}, Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"TheServerItself", {rejected}, Dialect::broker, "Rejected", from_orders, "orders", "shop", "order.placed", 3},
    {"Expired", {wire::x_death({wire::death("orders", "expired", 1, morning)})}, Dialect::broker, "Expired",
     "RabbitMQ dead-lettered it from queue orders: expired", "orders", "shop", "order.placed", 1},
    {"DroppedFromAFullQueue", {wire::x_death({wire::death("orders", "maxlen", 1, morning)})}, Dialect::broker, "QueueFull",
     "RabbitMQ dead-lettered it from queue orders: maxlen", "orders", "shop", "order.placed", 1},
    {"DeliveryLimit", {wire::x_death({wire::death("orders", "delivery_limit", 1, morning)})}, Dialect::broker, "DeliveryLimit",
     "RabbitMQ dead-lettered it from queue orders: delivery_limit", "orders", "shop", "order.placed", 1},
    {"AReasonOfTheFuture", {wire::x_death({wire::death("orders", "bored", 1, morning)})}, Dialect::broker, "DeadLettered",
     "RabbitMQ dead-lettered it from queue orders: bored", "orders", "shop", "order.placed", 1},
    {"TheConsumerCountsNotTheDelayQueue", {wire::x_death({wire::death("orders.delay", "expired", 2, morning),
                                                          wire::death("orders", "rejected", 3, morning)})},
     Dialect::broker, "Rejected", from_orders, "orders", "shop", "order.placed", 3},
    {"TheDeadLetterQueueItselfIsNoOrigin", {wire::x_death({wire::death("dead", "rejected", 5, morning),
                                                           wire::death("orders", "expired", 1, morning)})},
     Dialect::broker, "Expired", "RabbitMQ dead-lettered it from queue orders: expired", "orders", "shop", "order.placed", 5},
    {"OnlyTheFirstDeathIsTold", {text("x-first-death-queue", "orders"), text("x-first-death-reason", "rejected")},
     Dialect::broker, "Rejected", from_orders, "orders", "", "", 1},
    {"Spring", {text("x-exception-message", "card 4711 expired"),
                text("x-exception-stacktrace", "com.example.CardExpired: card 4711 expired\n\tat com.example.Pay.run"),
                text("x-original-exchange", "shop"), text("x-original-routingKey", "pay"), number("retry-count", "2")},
     Dialect::spring, "com.example.CardExpired", "card 4711 expired", "", "shop", "pay", 3},
    {"SpringBehindADeadLetterExchange", {text("x-exception-message", "no"), rejected},
     Dialect::spring, "", "no", "orders", "shop", "order.placed", 3},
    {"MassTransit", {text("MT-Reason", "fault"), text("MT-Fault-ExceptionType", "System.InvalidOperationException"),
                     text("MT-Fault-Message", "no stock"), text("MT-Fault-RetryCount", "4"), number("MT-Redelivery-Count", "1"),
                     text("MT-Fault-InputAddress", "rabbitmq://broker/shop/submit%2Dorder?temporary=false")},
     Dialect::masstransit, "System.InvalidOperationException", "no stock", "submit-order", "", "", 10},
    {"MassTransitSkippedIt", {text("MT-Reason", "dead-letter")}, Dialect::masstransit, "Skipped",
     "MassTransit skipped it: no consumer of its queue takes this type of message", "orders", "", "", 1, "orders_skipped"},
    {"NServiceBus", {text("NServiceBus.FailedQ", "Sales"), text("NServiceBus.ExceptionInfo.ExceptionType", "System.Exception"),
                     text("NServiceBus.ExceptionInfo.Message", "BOOM"), text("NServiceBus.FLRetries", "5"), text("NServiceBus.Retries", "3")},
     Dialect::nservicebus, "System.Exception", "BOOM", "Sales", "", "", 24},
    {"OurOwn", {text("dlo-error-type", "CardExpired"), text("dlo-error", "card expired"), text("dlo-failed-queue", "payments")},
     Dialect::own, "CardExpired", "card expired", "payments", "", "", 1},
    {"OurOwnWithItsCount", {text("dlo-error", "card expired"), text("dlo-failed-attempts", "3"), text("x-retry-count", "3")},
     Dialect::own, "", "card expired", "", "", "", 3},
    {"Document001", {text("x-error-message", "Card declined"), text("x-stack-trace", "at Pay.Run()"), text("x-original-queue", "payment_failed"), text("x-retry-count", "3")},
     Dialect::booking, "", "Card declined", "payment_failed", "", "", 3},
    {"OurOwnNames", {}, Dialect::none, "DeadLettered", "It was in dead-letter queue payment_failed_dlq; nothing tells why",
     "payment_failed", "", "", 1, "payment_failed_dlq"},
    {"WhoKnowsMostComesFirst", {text("NServiceBus.FailedQ", "Sales"), text("MT-Fault-Message", "mt"), text("x-exception-message", "spring"), rejected},
     Dialect::nservicebus, "", "mt", "Sales", "", "", 3},
}), [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(WrongTypes, LetterTable, ::testing::ValuesIn<Row>({
    {"DeathIsText", {text("x-death", "gotcha")}, Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"DeathIsANumber", {number("x-death", "17")}, Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"DeathIsNull", {{"x-death", "", HeaderType::null}}, Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"DeathIsATable", {{"x-death", wire::death("orders", "rejected", 1, morning), HeaderType::structured}},
     Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"DeathIsEmpty", {wire::x_death({})}, Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"DeathsAreTexts", {wire::x_death({wire::text("orders")})}, Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"DeathIsNoise", {{"x-death", std::string("A\xFF\xFF\xFF\xFF\x01", 6), HeaderType::structured}},
     Dialect::none, "DeadLettered", nothing, "", "", "", 1},
    {"EveryFieldIsWrong", {wire::x_death({wire::table({{"count", wire::text("many")}, {"reason", wire::number(1)},
                                                       {"queue", wire::text("orders")}, {"time", wire::text("noon")},
                                                       {"exchange", wire::list({})}, {"routing-keys", wire::text("k")}})})},
     Dialect::broker, "DeadLettered", "RabbitMQ dead-lettered it from queue orders: no reason given", "orders", "", "", 1},
    {"OneBadAmongGood", {wire::x_death({wire::text("x"), wire::death("orders", "rejected", 2, morning)})},
     Dialect::broker, "Rejected", from_orders, "orders", "shop", "order.placed", 2},
    {"ANegativeCount", {wire::x_death({wire::death("orders", "rejected", -5, morning)})}, Dialect::broker, "Rejected", from_orders, "orders", "shop", "order.placed", 1},
    {"AnAbsurdCount", {wire::x_death({wire::death("orders", "rejected", INT64_MAX, morning)})}, Dialect::broker, "Rejected", from_orders, "orders", "shop", "order.placed", 1'000'000},
    {"ErrorIsATable", {{"x-exception-message", wire::table({}), HeaderType::structured}}, Dialect::spring, "DeadLettered", nothing, "", "", "", 1},
    {"RetriesAreNoNumber", {text("x-exception-message", "no"), text("retry-count", "often")}, Dialect::spring, "", "no", "", "", "", 1},
    {"RetriesAreTooMany", {text("MT-Fault-Message", "no"), text("MT-Fault-RetryCount", "99999999999999999999")}, Dialect::masstransit, "", "no", "", "", "", 1},
    {"RetriesMultiply", {text("MT-Fault-Message", "no"), number("MT-Fault-RetryCount", "4000000000"), number("MT-Redelivery-Count", "4000000000")},
     Dialect::masstransit, "", "no", "", "", "", 1'000'000},
    {"AnAddressOfNothing", {text("MT-Fault-Message", "no"), text("MT-Fault-InputAddress", "rabbitmq://host/")}, Dialect::masstransit, "", "no", "", "", "", 1},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(LetterTest, TimesAreThoseOfTheFirstAndTheLastDeath) {
  const Headers headers{wire::x_death({wire::death("orders", "rejected", 2, morning + 60),
                                       wire::death("delay", "expired", 2, morning)})};
  const Letter letter = read_letter(headers, {"dead", "", noon});
  EXPECT_EQ(letter.first_failed_at, at_morning);
  EXPECT_EQ(letter.last_failed_at, at_morning + std::chrono::minutes{1});
  ASSERT_EQ(letter.deaths.size(), 2U);
  EXPECT_EQ(letter.deaths[0].queue, "orders") << "newest first, as the server has them";
}

TEST(LetterTest, TheMomentOfFailureIsReadAsEachWritesIt) {
  const auto at = [](Header header, Header also) {
    return read_letter({std::move(header), std::move(also)}, {"dead", "", noon}).last_failed_at;
  };
  EXPECT_EQ(at(text("NServiceBus.TimeOfFailure", "2026-03-01 08:00:00:123456 Z"),
               text("NServiceBus.FailedQ", "q")),
            at_morning + Millis{123});
  EXPECT_EQ(
      at(text("MT-Fault-Timestamp", "2026-03-01T08:00:00.5000000Z"), text("MT-Reason", "fault")),
      at_morning + Millis{500});
  EXPECT_EQ(at(text("dlo-failed-at", "2026-03-01T08:00:00Z"), text("dlo-error", "no")), at_morning);
  EXPECT_EQ(at(text("x-failed-at", "2026-03-01T08:00:00Z"), text("x-error-message", "no")),
            at_morning);
}

TEST(LetterTest, MomentsThatCannotBeAreNotTold) {
  const std::uint64_t wrong[] = {0, 1, morning * 1'000, UINT64_MAX, UINT64_MAX / 2};
  for (const std::uint64_t each : wrong) {
    const Headers headers{wire::x_death({wire::death("orders", "rejected", 1, each)})};
    EXPECT_FALSE(read_letter(headers, {"dead", "", noon}).last_failed_at) << each;
  }
  for (const char* each :
       {"", "yesterday", "2026-03-01 08:00:00:", "2031-03-01 08:00:00:000000 Z"}) {
    const Headers headers{text("NServiceBus.TimeOfFailure", each),
                          text("NServiceBus.FailedQ", "q")};
    EXPECT_FALSE(read_letter(headers, {"dead", "", noon}).last_failed_at) << each;
  }
}

TEST(LetterTest, WhatSomebodySaidOfTheOriginWins) {
  EXPECT_EQ(read_letter({rejected}, {"dead", "checkout", noon}).queue, "checkout");
}

TEST(LetterTest, LongAndIllFormedTextsBecomeShortAndReadable) {  // GEN-15
  const std::string noise(300'000, '\xC3');
  const Headers headers{text("x-exception-message", noise), text("x-exception-stacktrace", noise),
                        text("x-original-exchange", noise)};
  const Letter letter = read_letter(headers, {"dead", "", noon});
  EXPECT_TRUE(is_utf8(letter.failure.text));
  EXPECT_TRUE(is_utf8(letter.failure.stack));
  EXPECT_TRUE(is_utf8(letter.exchange));
  EXPECT_LT(letter.failure.text.size(), 60'000U);
  EXPECT_TRUE(letter.failure.text.ends_with(" [cut]"));
}

TEST(LetterTest, TheTypeOfTheMessageIsReadFromHeadersThatNameIt) {
  const auto type = [](Headers headers) {
    return read_letter(headers, {"dead", "", noon}).event_type;
  };
  EXPECT_EQ(type({text("NServiceBus.FailedQ", "q"),
                  text("NServiceBus.EnclosedMessageTypes",
                       "Shop.OrderPlaced, Shop, Version=1.0;Shop.IEvent")}),
            "Shop.OrderPlaced");
  EXPECT_EQ(type({text("x-exception-message", "no"), text("__TypeId__", "com.example.Order")}),
            "com.example.Order");
  EXPECT_EQ(type({text("__TypeId__", "com.example.Order")}), "") << "nobody failed on it";
}

}  // namespace
}  // namespace dlo::testing
