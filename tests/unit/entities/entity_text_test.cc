#include "dlo/entities/entity_text.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/entities/entity_record.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::must;
using testing::noon;

Entity payment() {
  Entity entity;
  entity.kind = "payment";
  entity.id = "7f1c";
  entity.error = "card declined";
  entity.data = R"({"PaymentMethod":"card","Amount":12.50,"BookingId":"b-1"})";
  entity.created_at = noon - 1h;
  entity.updated_at = noon;
  return entity;
}

TEST(EntityText, WhatIsKeptIsReadBack) {
  Entity entity = payment();
  EXPECT_EQ(must(from_document(to_document(entity))), entity);
  entity.status = EntityStatus::permanently_failed;
  entity.counters = {1, 2, 3, 4, 5, 6, 7};
  entity.error_type = "Declined";
  entity.message = "over";
  entity.reason = "too often";
  entity.last_retry_at = noon;
  entity.dead_letter = RecordId{{1, 2}};
  entity.round = 3;
  entity.registered_at = noon + 2s;
  entity.trail = trail_with_last(entity, "here");
  entity.effect = EntityEffect{EffectState::failed, 5, "no", noon, noon + 1s};
  EXPECT_EQ(must(from_document(to_document(entity))), entity);
}

TEST(EntityText, WhatIsNoEntityIsRefused) {
  EXPECT_FALSE(from_document("{"));
  EXPECT_FALSE(from_document(R"({"status":"GONE"})"));
  std::string text = to_document(payment());
  text.insert(1, R"("more":1,)");
  EXPECT_FALSE(from_document(text));
}

TEST(EntityText, ADeadLetterHasTheEightKeysOfTheDocument) {  // S1-30
  Entity entity = payment();
  entity.counters.retry = 3;
  entity.last_retry_at = noon;
  EXPECT_EQ(payload_of(payment_kind(), entity),
            R"({"PaymentId":"7f1c","BookingId":"b-1","Amount":12.50,"PaymentMethod":"card",)"
            R"("RetryCount":3,"LastRetryAt":"2026-03-01T12:00:00.000Z",)"
            R"("OriginalCreatedAt":"2026-03-01T11:00:00.000Z","FailureReason":"card declined"})");
  entity.data = "{}";
  entity.error.clear();
  entity.last_retry_at.reset();
  EXPECT_EQ(payload_of(payment_kind(), entity),
            R"({"PaymentId":"7f1c","BookingId":null,"Amount":null,"PaymentMethod":null,)"
            R"("RetryCount":3,"LastRetryAt":null,)"
            R"("OriginalCreatedAt":"2026-03-01T11:00:00.000Z","FailureReason":null})");
}

TEST(EntityText, AKindWithoutFieldsKeepsWhateverIsSaid) {
  Entity entity = payment();
  entity.data = R"({"b":[1,2],"a":1e400})";
  const std::string payload = payload_of(entity_kind("order"), entity);
  EXPECT_TRUE(payload.starts_with(R"({"OrderId":"7f1c","b":[1,2],"a":1e400,"RetryCount":0,)"))
      << payload;
}

TEST(EntityText, DataThatDoesNotBelongThereIsRefusedByName) {
  const EntityKind kind = payment_kind();
  EXPECT_TRUE(check_data(kind, R"({"Amount":1})"));
  const auto unknown = check_data(kind, R"({"Amout":1})");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().detail.find("did you mean \"Amount\""), std::string::npos)
      << unknown.error().detail;
  EXPECT_FALSE(check_data(entity_kind("order"), R"({"RetryCount":9})"));
  EXPECT_TRUE(check_data(entity_kind("order"), R"({"anything":9})"));
  EXPECT_FALSE(check_data(kind, "[]"));
  EXPECT_FALSE(check_data(entity_kind("order"), "{\"a\":\"" + std::string(70'000, 'x') + "\"}"));
}

TEST(EntityRecord, IsTheOneOfTheDocument) {  // S1-11, S1-28, S1-30, S1-31
  const RuleBook rules = must(RuleBook::build(must(find_profile("booking-retry-api"))));
  Entity entity = payment();
  for (int call = 0; call < 3; ++call) {
    entity.trail = trail_with_last(entity, "here");
    entity =
        std::get<RetryAllowed>(ask_for_retry(rules, payment_kind(), entity, noon + call * 1min))
            .entity;
  }
  const std::string trail = trail_with_last(entity, "here");
  auto over = std::get<RetriesOver>(ask_for_retry(rules, payment_kind(), entity, noon + 5min));
  over.entity.trail = trail;
  const Append append = dead_letter_of(payment_kind(), over, rules, {"here", "1"}, noon + 5min);
  const DeadLetter& record = *append.record;
  EXPECT_EQ(record.message->source, "payment_retry");
  EXPECT_EQ(record.message->event_type, "PaymentRetryFailed");
  EXPECT_EQ(record.message->id, "7f1c");
  EXPECT_EQ(record.status, Status::pending);
  EXPECT_EQ(record.reason, "Maximum retry attempts reached");
  EXPECT_EQ(record.failure.text, "Maximum retry attempts reached");
  EXPECT_EQ(record.counters.retry, 3U);
  EXPECT_EQ(record.limit, 3U);
  EXPECT_EQ(record.first_attempt_at, noon - 1h);
  EXPECT_EQ(record.last_failed_at, noon + 5min);
  EXPECT_EQ(record.died_at, noon + 5min);
  EXPECT_EQ(record.profile, "booking-retry-api");
  ASSERT_EQ(append.attempts.size(), 4U);
  EXPECT_EQ(append.attempts.back().error_text, "card declined");
  EXPECT_EQ(append.attempts.back().number, 4U);

  auto other = over;
  other.failure.causes.front().text = "bank unreachable";
  const Append second = dead_letter_of(payment_kind(), other, rules, {"here", "1"}, noon + 5min);
  EXPECT_NE(second.record->fingerprint.hash, record.fingerprint.hash)
      << "grouped by what it failed of, not by the limit";
}

}  // namespace
}  // namespace dlo
