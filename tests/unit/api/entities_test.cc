// Retries that somebody asks for, over HTTP (S1-9..11, S1-25..32).
#include "dlo/api/entities.h"

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "unit/api/asking.h"

#include "dlo/store/passing_office.h"

namespace dlo::api {
namespace {

using namespace std::chrono_literals;
using testing::must;

/// An office that cannot write while it is told so.
class FailingOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (fails_ && !changes.empty()) return Error{*fails_, "t", "The disk is gone."};
    return inner().apply(changes);
  }
  std::optional<Code> fails_;
};

class EntitiesTest : public Asking {
 protected:
  void start() override {
    options_.entities.log = [this](const std::string& line, bool is_error) {
      log_.push_back((is_error ? "error: " : "info: ") + line);
    };
    service_ = std::make_unique<Service>(failing_, nullptr, clock_, options_);
  }
  void TearDown() override { service_.reset(); }

  Told add(const std::string& body = body_of_7) {
    return say("PUT", "/v1/entities/payment/7", body);
  }
  Told retry(const std::string& body = "{}", Headers headers = {}) {
    clock_.advance(Millis{1min});
    return say("POST", "/v1/entities/payment/7/retries", body, std::move(headers));
  }
  Told dead_letters() { return get("/v1/dead-letters?q=source:payment_retry"); }
  void exhaust() {
    add();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(retry().status(), 200);
  }

  static constexpr const char* body_of_7 =
      R"({"data":{"BookingId":"b-1","Amount":12.50,"PaymentMethod":"card"},)"
      R"("created_at":"2026-03-01T11:00:00Z","error":"card declined"})";
  FailingOffice failing_{office_};
  std::vector<std::string> log_;
};

TEST_F(EntitiesTest, OneThatNobodyRegisteredIsNotFound) {  // S1-25
  const Told told = retry();
  EXPECT_EQ(told.status(), 404);
  EXPECT_EQ(told.at("detail"), "Payment 7 not found");
  EXPECT_EQ(get("/v1/entities/payment/7").at("detail"), "Payment 7 not found");
  const Told unknown = get("/v1/entities/paiment/7");
  EXPECT_EQ(unknown.status(), 404);
  EXPECT_TRUE(unknown.says("did you mean")) << unknown;
}

TEST_F(EntitiesTest, ThreeRetriesAreCountedAndTheFourthCallMakesADeadLetter) {  // S1-9, S1-10
  EXPECT_EQ(add().status(), 201);
  for (const char* count : {"1", "2", "3"}) {
    const Told told = retry();
    EXPECT_EQ(told.status(), 200) << told;
    EXPECT_EQ(told.at("status"), "FAILED");
    EXPECT_EQ(told.at("retry"), "true");
    EXPECT_EQ(told.at("retry_count"), count);
    EXPECT_EQ(told.at("max_retries"), "3");
  }
  EXPECT_TRUE(log_.empty());
  const Told last = retry(R"({"error":"bank unreachable"})");
  EXPECT_EQ(last.status(), 200) << last;
  EXPECT_EQ(last.at("status"), "PERMANENTLY_FAILED");
  EXPECT_EQ(last.at("retry"), "false");
  EXPECT_EQ(last.at("retry_count"), "3");
  EXPECT_EQ(last.at("message"), "Max retries reached. Moved to DLQ for investigation.");  // S1-29
  EXPECT_EQ(last.at("reason"), "Maximum retry attempts reached");                         // S1-28
  EXPECT_EQ(last.at("updated_at"), "2026-03-01T12:04:00.000Z");
  const Told form = get("/v1/dead-letters/" + last.at("dead_letter") + "?form=booking");
  EXPECT_EQ(form.at("SourceQueue"), "payment_retry");  // S1-11
  EXPECT_EQ(form.at("EventType"), "PaymentRetryFailed");
  EXPECT_EQ(form.at("ErrorMessage"), "Maximum retry attempts reached");
  EXPECT_EQ(form.at("AttemptCount"), "3");  // S1-31
  EXPECT_EQ(form.at("FirstAttemptAt"), "2026-03-01T11:00:00Z");
  EXPECT_EQ(form.at("FailedAt"), "2026-03-01T12:04:00Z");
  EXPECT_EQ(form.at("Resolved"), "false");
  EXPECT_EQ(
      get("/v1/dead-letters/" + last.at("dead_letter") + "/payload").body(),
      R"({"PaymentId":"7","BookingId":"b-1","Amount":12.50,"PaymentMethod":"card",)"
      R"("RetryCount":3,"LastRetryAt":"2026-03-01T12:03:00.000Z",)"
      R"("OriginalCreatedAt":"2026-03-01T11:00:00.000Z","FailureReason":"bank unreachable"})");
  ASSERT_EQ(log_.size(), 2U);  // S1-27, S1-32
  EXPECT_EQ(log_[0], "error: Max retries (3) reached for PaymentId: 7. Moving to DLQ.");
  EXPECT_EQ(log_[1], "info: Payment stored in DLQ. PaymentId: 7, DLQId: " + form.at("Id"));
}

TEST_F(EntitiesTest, LaterCallsAreRefusedAndMakeNothing) {
  exhaust();
  const Told told = retry();
  EXPECT_EQ(told.status(), 409);
  EXPECT_TRUE(told.says("PERMANENTLY_FAILED")) << told;
  EXPECT_EQ(get("/v1/entities/payment/7").at("retry_count"), "3");
  EXPECT_EQ(dead_letters().at("dead_letters.1"), "?") << dead_letters();
  EXPECT_EQ(log_.size(), 2U);
}

TEST_F(EntitiesTest, ADeadLetterShowsWhatThePaymentWas) {  // S1-36, S1-37
  exhaust();
  const Told list = get(
      "/v1/dead-letters?q=status:open+type:PaymentRetryFailed"
      "&columns=payment_id%3Dbody.PaymentId,amount%3Dbody.Amount,retry_count%3Dbody.RetryCount");
  EXPECT_TRUE(list.says(R"("payment_id":"7")")) << list;
  EXPECT_TRUE(list.says(R"("amount":12.50)")) << list;
}

TEST_F(EntitiesTest, AStoreThatFailsLeavesItRetriableAndTheCallerIsTold) {
  add();
  for (int i = 0; i < 3; ++i) retry();
  failing_.fails_ = Code::unavailable;
  const Told failed = retry();
  EXPECT_EQ(failed.status(), 503) << failed;
  EXPECT_TRUE(failed.says("Payment 7 is as it was")) << failed;
  EXPECT_FALSE(failed.header("Retry-After").empty());
  failing_.fails_.reset();
  EXPECT_EQ(get("/v1/entities/payment/7").at("status"), "FAILED");
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(retry().at("status"), "PERMANENTLY_FAILED");
}

TEST_F(EntitiesTest, ACallUnderOneKeyIsCountedOnce) {
  add();
  const Headers key{{"Idempotency-Key", "call-1"}};
  const Told first = retry("{}", key);
  const Told again = retry("{}", key);
  EXPECT_EQ(again.body(), first.body());
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(get("/v1/entities/payment/7").at("retry_count"), "1");
  EXPECT_EQ(retry(R"({"error":"x"})", key).status(), 409) << "the key of another request";
  retry();
  retry();
  const Headers last{{"Idempotency-Key", "call-4"}};
  const Told dead = retry("{}", last);
  EXPECT_EQ(dead.at("status"), "PERMANENTLY_FAILED");
  EXPECT_EQ(retry("{}", last).body(), dead.body()) << "and not 409";
  EXPECT_EQ(log_.size(), 2U);
}

TEST_F(EntitiesTest, ManyCallersAtOnceMakeOneDeadLetter) {
  add();
  std::vector<std::shared_ptr<Asked>> asked;
  for (int i = 0; i < 16; ++i) {
    asked.push_back(begin("POST", "/v1/entities/payment/7/retries", "{}",
                          {{"Content-Type", "application/json"},
                           {"Idempotency-Key", "key-" + std::to_string(i / 2)}}));
  }
  int refused = 0;
  for (const auto& each : asked) refused += each->answer().status == 409 ? 1 : 0;
  EXPECT_EQ(refused, 16 - 8) << "eight keys, four of which were counted, each asked twice";
  EXPECT_EQ(get("/v1/entities/payment/7").at("status"), "PERMANENTLY_FAILED");
  EXPECT_NE(dead_letters().at("dead_letters.0"), "?");
  EXPECT_EQ(dead_letters().at("dead_letters.1"), "?");
}

TEST_F(EntitiesTest, ARegistrationIsIdempotentAndMayBeCorrected) {
  const Told first = add();
  EXPECT_EQ(first.header("ETag"), add().header("ETag"));
  const Told other = add(R"({"error":"limit exceeded"})");
  EXPECT_EQ(other.status(), 200);
  EXPECT_EQ(other.at("error"), "limit exceeded");
  EXPECT_EQ(other.at("data.BookingId"), "b-1") << "what is not said stays";
  const Told late = say("PUT", "/v1/entities/payment/7", R"({"error":"x"})",
                        {{"If-Match", first.header("ETag")}});
  EXPECT_EQ(late.status(), 412) << late;
  EXPECT_EQ(add(R"({"data":{"Amout":1}})").status(), 400);
  EXPECT_EQ(add(R"({"retry_count":0})").status(), 400) << "the office counts";
  EXPECT_EQ(say("PUT", "/v1/entities/payment/a%0Ab", "{}").status(), 400);
}

TEST_F(EntitiesTest, OneThatFailedForGoodIsOpenedAgainTogetherWithItsDeadLetter) {
  exhaust();
  const std::string dead = get("/v1/entities/payment/7").at("dead_letter");
  EXPECT_EQ(add(R"({"error":"x"})").status(), 409);
  const Told open = say("POST", "/v1/entities/payment/7/reopen", R"({"notes":"the bank is back"})");
  EXPECT_EQ(open.status(), 200) << open;
  EXPECT_EQ(open.at("status"), "FAILED");
  EXPECT_EQ(open.at("retry_count"), "0");
  EXPECT_EQ(open.at("round"), "2");
  const Told letter = get("/v1/dead-letters/" + dead);
  EXPECT_EQ(letter.at("status"), "resolved") << letter;
  EXPECT_EQ(letter.at("resolution.how"), "reopened");
  EXPECT_EQ(letter.at("resolution.notes"), "the bank is back");
  EXPECT_EQ(say("POST", "/v1/entities/payment/7/reopen", "{}").status(), 409);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(retry().at("retry"), "true");
  const Told again = retry();
  EXPECT_EQ(again.at("status"), "PERMANENTLY_FAILED");
  EXPECT_NE(again.at("dead_letter"), dead);
}

TEST_F(EntitiesTest, AreListedByIdPageByPageAndByStatus) {
  exhaust();
  for (const char* id : {"4", "a%2Fb", "9"}) {
    say("PUT", std::string("/v1/entities/payment/") + id, body_of_7);
  }
  const Told first = get("/v1/entities/payment?limit=3");
  EXPECT_EQ(first.at("entities.0.id"), "4") << first;
  EXPECT_EQ(first.at("entities.2.id"), "9") << first;
  EXPECT_EQ(first.at("entities.1.max_retries"), "3") << first;
  const Told second = get("/v1/entities/payment?cursor=" + first.at("next"));
  EXPECT_EQ(second.at("entities.0.id"), "a/b") << second;
  EXPECT_EQ(second.at("next"), "null") << second;
  const Told dead = get("/v1/entities/payment?status=PERMANENTLY_FAILED");
  EXPECT_EQ(dead.at("entities.0.id"), "7") << dead;
  EXPECT_FALSE(dead.says(R"("id":"4")")) << dead;
  EXPECT_EQ(get("/v1/entities/payment?status=failed").status(), 400);
  EXPECT_EQ(get("/v1/entities/payment?limit=0").status(), 400);
  EXPECT_EQ(get("/v1/entities/payments").status(), 404);
}

TEST_F(EntitiesTest, OneThatSucceededIsRemoved) {
  add();
  EXPECT_EQ(ask("DELETE", "/v1/entities/payment/7").status(), 200);
  EXPECT_EQ(get("/v1/entities/payment/7").status(), 404);
  EXPECT_EQ(ask("DELETE", "/v1/entities/payment/7").status(), 404);
}

TEST_F(EntitiesTest, OtherKindsComeFromTheConfiguration) {
  EntityKind kind = entity_kind("order_shipment");
  kind.limit = 1;
  kind.source = "shipping";
  options_.entities.kinds.push_back(kind);
  const std::string path = "/v1/entities/order_shipment/x";
  EXPECT_EQ(get(path).at("detail"), "Order shipment x not found");
  EXPECT_EQ(say("PUT", path, R"({"data":{"carrier":"post"}})").status(), 201);
  EXPECT_EQ(ask("POST", path + "/retries").at("retry"), "true");
  const Told dead = ask("POST", path + "/retries");
  EXPECT_EQ(dead.at("status"), "PERMANENTLY_FAILED") << dead;
  const Told letter = get("/v1/dead-letters/" + dead.at("dead_letter"));
  EXPECT_EQ(letter.at("message.source"), "shipping") << letter;
  EXPECT_EQ(log_.front(), "error: Max retries (1) reached for OrderShipmentId: x. Moving to DLQ.");
}

TEST_F(EntitiesTest, AnOwnerIsToldAndWhatWentWrongIsShown) {
  std::atomic<bool> works{false};
  options_.entities.kinds.front().has_effect = true;
  options_.entities.effects["payment"] = [&](const Entity&,
                                             const std::stop_token&) -> Result<void> {
    if (works) return {};
    return Error{Code::invalid_argument, "t", "no such table"};
  };
  exhaust();
  const auto is = [&](const std::string& state) {
    clock_.advance(Millis{1min});
    return get("/v1/entities/payment/7").at("effect.state") == state;
  };
  ASSERT_TRUE(testing::eventually([&] { return is("failed"); }));
  EXPECT_EQ(get("/v1/entities/payment/7").at("effect.why"), "no such table");
  works = true;
  EXPECT_EQ(ask("POST", "/v1/entities/payment/7/effect").at("effect.state"), "pending");
  ASSERT_TRUE(testing::eventually([&] { return is("applied"); }));
  EXPECT_EQ(ask("POST", "/v1/entities/payment/7/effect").status(), 409);
  say("POST", "/v1/entities/payment/7/reopen", "{}");
  EXPECT_EQ(get("/v1/entities/payment/7").at("effect"), "null");
  service_.reset();
}

TEST_F(EntitiesTest, AProfileThatIsConfiguredAwayIsNamed) {
  options_.entities.kinds.front().profile = "gone";
  const Told told = add();
  EXPECT_EQ(told.status(), 503) << told;
  EXPECT_TRUE(told.says("gone")) << told;
}

TEST_F(EntitiesTest, EveryActIsInTheTrailAndTheDeathToo) {
  exhaust();
  say("POST", "/v1/entities/payment/7/reopen", "{}");
  ask("DELETE", "/v1/entities/payment/7");
  std::vector<std::string> acts;
  for (const AuditEntry& each : must(office_.extras().ledger->audit(0, 100))) {
    acts.push_back(each.act.act);
    EXPECT_EQ(each.act.detail.find("card"), std::string::npos) << "what the owner said is not";
  }
  EXPECT_EQ(acts, (std::vector<std::string>{"entity.register", "entity.retry", "entity.retry",
                                            "entity.retry", "die", "entity.retry", "entity.reopen",
                                            "entity.remove"}));
}

TEST_F(EntitiesTest, SecretsAndMaskedPlacesAreNotShown) {
  options_.masked = {must(FieldPath::parse("body.Amount"))};
  const Told told = add(
      R"({"data":{"Amount":12.50,"BookingId":"b-1"},"error":"password=hunter2secret refused"})");
  EXPECT_FALSE(told.says("12.50")) << told;
  EXPECT_TRUE(told.says("b-1")) << told;
  EXPECT_FALSE(told.says("hunter2secret")) << told;
  EXPECT_FALSE(get("/v1/entities/payment").says("12.50"));
}

TEST_F(EntitiesTest, ATokenForAnotherSourceSeesNothing) {
  add();
  EXPECT_TRUE(get("/v1/entities/payment").says("b-1")) << "others see it";
  const Told made =
      say("POST", "/v1/tokens", R"({"name":"x","role":"operator","sources":["orders"]})");
  const Headers narrow{{"Authorization", "Bearer " + made.at("secret")}};
  EXPECT_EQ(get("/v1/entities/payment/7", narrow).status(), 404);
  EXPECT_FALSE(get("/v1/entities/payment", narrow).says("b-1"));
  EXPECT_EQ(retry("{}", narrow).status(), 404);
}

}  // namespace
}  // namespace dlo::api
