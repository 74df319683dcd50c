// Retries that somebody asks for: document 001, entry point 3 (S1-9..11, S1-25..32).
#include "dlo/core/entity.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "unit/core/always_failing.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::book_of;
using testing::must;
using testing::noon;

Entity payment() {
  Entity entity;
  entity.kind = "payment";
  entity.id = "7";
  entity.error = "card declined";
  entity.created_at = noon - 1h;
  return entity;
}

/// What a row of calls is answered, in brief: "1" for allowed with count 1, "dead", "refused".
std::string calls(const RuleBook& rules, Entity& entity, int number) {
  std::string told;
  for (int call = 1; call <= number; ++call) {
    RetryAnswer answer = ask_for_retry(rules, payment_kind(), entity, noon + call * 1min);
    if (!told.empty()) told += " ";
    if (auto* fine = std::get_if<RetryAllowed>(&answer)) {
      entity = fine->entity;
      told += std::to_string(entity.counters.retry);
    } else if (auto* over = std::get_if<RetriesOver>(&answer)) {
      entity = over->entity;
      told += "dead";
    } else {
      told += "refused";
    }
  }
  return told;
}

struct Row {
  const char* name;
  const char* profile;
  std::uint32_t limit;  // 0: the profile's
  const char* error;
  const char* told;
  const char* reason;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class EntityRule : public ::testing::TestWithParam<Row> {};

TEST_P(EntityRule, FollowsTheTable) {
  const Row& row = GetParam();
  Profile profile = must(find_profile(row.profile));
  if (row.limit > 0) profile = with_limit(std::move(profile), row.limit);
  const RuleBook rules = must(RuleBook::build(std::move(profile)));
  Entity entity = payment();
  entity.error = row.error;
  EXPECT_EQ(calls(rules, entity, 6), row.told);
  EXPECT_EQ(entity.reason, row.reason);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Profiles, EntityRule, ::testing::ValuesIn<Row>({
    // S1-9, S1-10, S1-26, S1-28: three retries, the fourth call ends it, later ones are refused.
    {"TheFourthCallEndsIt", "booking-retry-api",      0, "card declined", "1 2 3 dead refused refused", "Maximum retry attempts reached"},
    {"SafeIsTheSame",       "booking-retry-api+safe", 0, "card declined", "1 2 3 dead refused refused", "Maximum retry attempts reached"},
    {"ALimitOfItsOwn",      "booking-retry-api",      1, "card declined", "1 dead refused refused refused refused", "Maximum retry attempts reached"},
    // A check after the failure: the run that is asked for now is the one too many.
    {"FailuresAreCounted",  "booking",                0, "card declined", "1 2 dead refused refused refused", "MaxRequeueAttemptsExceeded"},
    {"ASameCountOfRuns",    "service-bus",            0, "connection lost", "1 2 dead refused refused refused", "MaxDeliveryCountExceeded"},
    // What is pointless is not retried at all.
    {"SomeErrorsAreFinal",  "service-bus",            0, "bad request", "dead refused refused refused refused refused", "NonRetryableError"},
}), [](const auto& row) { return std::string(row.param.name); });
// clang-format on

TEST(Entity, OneThatFailedForGoodSaysSo) {  // S1-28, S1-29, S1-31
  const RuleBook rules = book_of("booking-retry-api");
  Entity entity = payment();
  EXPECT_EQ(calls(rules, entity, 3), "1 2 3");
  EXPECT_EQ(entity.last_retry_at, noon + 3min);
  const RetryAnswer last = ask_for_retry(rules, payment_kind(), entity, noon + 4min);
  const auto* over = std::get_if<RetriesOver>(&last);
  ASSERT_NE(over, nullptr);
  EXPECT_EQ(name_of(over->entity.status), "PERMANENTLY_FAILED");
  EXPECT_EQ(over->entity.message, "Max retries reached. Moved to DLQ for investigation.");
  EXPECT_EQ(over->entity.updated_at, noon + 4min);
  EXPECT_EQ(over->entity.last_retry_at, noon + 3min);
  EXPECT_EQ(over->entity.counters.retry, 3U);
  EXPECT_EQ(over->entity.counters.total, 4U);
  EXPECT_EQ(over->failure.text, "Maximum retry attempts reached");
  EXPECT_EQ(over->failure.causes, (std::vector<Cause>{{"", "card declined"}}));
}

TEST(Entity, TheLogIsToldInTheWordsOfTheDocument) {  // S1-27, S1-32
  const RuleBook rules = book_of("booking-retry-api");
  Entity entity = payment();
  EXPECT_EQ(calls(rules, entity, 4), "1 2 3 dead");
  entity.dead_letter = RecordId{{0x0123456789abcdefULL, 0x0123456789abcdefULL}};
  EXPECT_EQ(moving_line(payment_kind(), entity, rules),
            "Max retries (3) reached for PaymentId: 7. Moving to DLQ.");
  EXPECT_EQ(stored_line(payment_kind(), entity),
            "Payment stored in DLQ. PaymentId: 7, DLQId: 01234567-89ab-cdef-0123-456789abcdef");
  entity.reason = "NonRetryableError";
  EXPECT_EQ(moving_line(payment_kind(), entity, rules),
            "NonRetryableError for PaymentId: 7. Moving to DLQ.");
}

TEST(Entity, ARefusalSaysWhatItIsAndWhatToDo) {
  Entity entity = payment();
  const RuleBook rules = book_of("booking-retry-api");
  EXPECT_EQ(calls(rules, entity, 4), "1 2 3 dead");
  entity.dead_letter = RecordId{{0, 1}};
  const RetryAnswer answer = ask_for_retry(rules, payment_kind(), entity, noon);
  const auto* refused = std::get_if<RetryRefused>(&answer);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->why,
            "Payment 7 is PERMANENTLY_FAILED: Maximum retry attempts reached; it is dead letter "
            "00000000000000000000000000000001. Nothing was counted. When the cause is dealt with, "
            "open it again (POST …/reopen).");
}

TEST(Entity, OneThatIsOpenedAgainHasAllItsRetries) {
  const RuleBook rules = book_of("booking-retry-api");
  Entity entity = payment();
  EXPECT_EQ(reopened(payment_kind(), entity, noon).error().code, Code::conflict);
  EXPECT_EQ(calls(rules, entity, 4), "1 2 3 dead");
  const RecordId first = death_id(entity);
  EXPECT_EQ(entity.dead_letter, first);
  entity = must(reopened(payment_kind(), entity, noon + 1h));
  EXPECT_EQ(entity.status, EntityStatus::failed);
  EXPECT_EQ(entity.counters.retry, 0U);
  EXPECT_EQ(entity.counters.total, 4U);
  EXPECT_EQ(entity.message, "");
  EXPECT_FALSE(entity.dead_letter);
  EXPECT_EQ(entity.round, 2U);
  EXPECT_EQ(calls(rules, entity, 5), "1 2 3 dead refused");
  EXPECT_NE(entity.dead_letter, first) << "its owner hears of the second death as well";
}

TEST(Entity, AKindFollowsFromItsName) {  // S1-11, S1-25, S1-30
  const EntityKind kind = payment_kind();
  EXPECT_EQ(kind.source, "payment_retry");
  EXPECT_EQ(kind.event_type, "PaymentRetryFailed");
  EXPECT_EQ(kind.id_key, "PaymentId");
  EXPECT_EQ(not_found_text(kind, "7"), "Payment 7 not found");
  const EntityKind other = entity_kind("order_shipment");
  EXPECT_EQ(other.title, "Order shipment");
  EXPECT_EQ(other.source, "order_shipment_retry");
  EXPECT_EQ(other.event_type, "OrderShipmentRetryFailed");
  EXPECT_EQ(other.id_key, "OrderShipmentId");
}

TEST(Entity, OneThatIsRemovedAndComesAgainIsAnother) {
  Entity first = payment();
  Entity second = payment();
  second.registered_at = noon;
  EXPECT_NE(death_id(first), death_id(second));
}

TEST(Entity, WhatAStatementIsGivenIsNamed) {
  Entity entity = payment();
  entity.counters.retry = 3;
  entity.dead_letter = RecordId{{0x0123456789abcdefULL, 0x0123456789abcdefULL}};
  EXPECT_EQ(entity_value(entity, "id"), "7");
  EXPECT_EQ(entity_value(entity, "status"), "FAILED");
  EXPECT_EQ(entity_value(entity, "retry_count"), "3");
  EXPECT_EQ(entity_value(entity, "created_at"), "2026-03-01T11:00:00.000Z");
  EXPECT_EQ(entity_value(entity, "last_retry_at"), std::nullopt);
  EXPECT_EQ(entity_value(entity, "message"), std::nullopt);
  EXPECT_EQ(entity_value(entity, "dead_letter"), "01234567-89ab-cdef-0123-456789abcdef");
  EXPECT_EQ(entity_value(entity, "data"), "{}");
}

TEST(Entity, AnEffectIsOwedFromItsDeathOnIfItsKindHasOne) {
  const RuleBook rules = book_of("booking-retry-api");
  EntityKind kind = payment_kind();
  Entity entity = payment();
  EXPECT_EQ(calls(rules, entity, 3), "1 2 3");
  EXPECT_FALSE(std::get<RetriesOver>(ask_for_retry(rules, kind, entity, noon)).entity.effect);
  EXPECT_EQ(with_effect_again(kind, entity, noon).error().code, Code::conflict);
  kind.has_effect = true;
  entity = std::get<RetriesOver>(ask_for_retry(rules, kind, entity, noon)).entity;
  EXPECT_EQ(entity.effect, effect_due(noon));
  entity.effect->state = EffectState::failed;
  EXPECT_EQ(must(with_effect_again(kind, entity, noon + 1h)).effect, effect_due(noon + 1h));
  entity.effect->state = EffectState::applied;
  EXPECT_EQ(with_effect_again(kind, entity, noon).error().code, Code::conflict);
}

TEST(Entity, NamesAndIdsAreText) {
  EXPECT_TRUE(is_kind_name("order_shipment-2"));
  for (const char* wrong : {"", "Payment", "2nd", "a/b", "a b"}) {
    EXPECT_FALSE(is_kind_name(wrong)) << wrong;
  }
  EXPECT_TRUE(is_entity_id("7f1c/ä 1"));
  EXPECT_FALSE(is_entity_id(""));
  EXPECT_FALSE(is_entity_id("a\nb"));
  EXPECT_FALSE(is_entity_id("\xff"));
  EXPECT_FALSE(is_entity_id(std::string(201, 'x')));
}

TEST(EntityEffect, IsTriedAgainWithPatienceAndRefusedOnlySoOften) {
  const Result<void> down = Error{Code::unavailable, "t", "no answer"};
  const Result<void> wrong = Error{Code::invalid_argument, "t", "no such table"};
  EntityEffect effect = effect_due(noon);
  EXPECT_EQ(effect.next_at, noon);
  for (const Millis wait : {1'000ms, 2'000ms, 4'000ms, 8'000ms, 16'000ms}) {
    effect = after_try(effect, down, noon);
    EXPECT_EQ(effect.next_at, noon + wait);
    EXPECT_EQ(effect.why, "no answer");
  }
  for (int i = 0; i < 40; ++i) effect = after_try(effect, down, noon);
  EXPECT_EQ(effect.state, EffectState::pending);
  EXPECT_EQ(effect.next_at, noon + 5min);

  EntityEffect refused = effect_due(noon);
  for (int i = 1; i < 5; ++i) {
    refused = after_try(refused, wrong, noon);
    EXPECT_EQ(refused.state, EffectState::pending) << i;
  }
  refused = after_try(refused, wrong, noon);
  EXPECT_EQ(refused.state, EffectState::failed);
  EXPECT_FALSE(refused.next_at);
  EXPECT_EQ(refused.why, "no such table");
  EXPECT_EQ(after_try(effect, {}, noon).state, EffectState::applied);
  EXPECT_EQ(after_try(effect, {}, noon).why, "");
}

}  // namespace
}  // namespace dlo
