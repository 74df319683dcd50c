#include "dlo/engine/handlers/validators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "support/must.h"

#include "dlo/core/decide.h"

namespace dlo {
namespace {

using dlo::testing::must;
using dlo::testing::noon;
using ::testing::HasSubstr;

Message payment(std::optional<std::string> payload) {
  Message message;
  message.event_type = "PaymentCreated";
  message.payload = std::move(payload);
  return message;
}

/// The reason a message dies of under `kafka`, the profile these rules come from.
std::string kafka_reason(const Validator& validator, const Message& message) {
  const RuleBook book = must(RuleBook::build(must(find_profile("kafka"))));
  const auto failure = validator.check(message);
  if (!failure) return "passes";
  const Decision decision = book.after_invalid({}, validator.stage(), *failure, noon, 0);
  const auto* dead = std::get_if<DeadLetterAs>(&decision.verdict);
  return dead == nullptr ? "lives" : dead->reason;
}

TEST(Validators, MalformedJsonDiesOfJsonException_S4_23) {
  const auto json = must(require_json({}));
  EXPECT_EQ(kafka_reason(*json, payment("{\"paymentId\": ")), "JsonException");
  EXPECT_THAT(
      json->check(payment("{\"a\": x}"))->text,
      HasSubstr("the payload is not JSON: expected a value, found 'x' at line 1, column 7"));
  EXPECT_EQ(kafka_reason(*json, payment("{}")), "passes");
}

TEST(Validators, TextInANumericFieldDiesOfJsonException_S4_4) {
  const auto json =
      must(require_json({{{"amountInMinorUnits", FieldType::integer, "PaymentCreated"}}}));
  EXPECT_EQ(kafka_reason(*json, payment(R"({"amountInMinorUnits":"1000"})")), "JsonException");
  EXPECT_EQ(json->check(payment(R"({"amountInMinorUnits":"1000"})"))->text,
            "the payload's amountInMinorUnits must be an integer, but is a string");
  EXPECT_EQ(kafka_reason(*json, payment(R"({"amountInMinorUnits":1000})")), "passes");
  EXPECT_EQ(kafka_reason(*json, payment("{}")), "passes") << "presence is the schema's business";
  Message other = payment(R"({"amountInMinorUnits":"1000"})");
  other.event_type = "Refund";
  EXPECT_EQ(kafka_reason(*json, other), "passes");
}

TEST(Validators, AMissingEventTypeHeaderDiesAtOnce_S4_5) {
  const auto headers = require_headers({"event-type"});
  Message message = payment("{}");
  message.event_type.clear();
  message.headers = {{"tenant", "a"}};
  EXPECT_EQ(kafka_reason(*headers, message), "MissingEventTypeHeader");
  const auto failure = headers->check(message);
  EXPECT_EQ(failure->type, "MissingEventTypeHeader");
  EXPECT_THAT(failure->text, HasSubstr("no \"event-type\" header; it has \"tenant\""));
  message.headers.push_back({"Event-Type", "PaymentCreated"});
  EXPECT_EQ(kafka_reason(*headers, message), "passes");
  EXPECT_EQ(kafka_reason(*headers, payment("{}")), "passes") << "the broker already knew the type";
}

TEST(Validators, AMissingRequiredFieldViolatesTheSchema_S4_6) {
  const auto schema = must(require_fields({{"paymentId", FieldType::string, "PaymentCreated"},
                                           {"amount.value", FieldType::number, ""}}));
  // R4-5: the profile's own name for it; the failure's type keeps ours.
  EXPECT_EQ(kafka_reason(*schema, payment(R"({"amount":{"value":1}})")), "DeserializationFailure");
  const auto failure = schema->check(payment(R"({"paymentId":null,"amount":{"value":"x"}})"));
  EXPECT_EQ(failure->type, "SchemaViolation");
  EXPECT_EQ(failure->text,
            "the payload of \"PaymentCreated\" violates its schema: paymentId is missing; "
            "amount.value must be a number, but is a string");
  EXPECT_EQ(kafka_reason(*schema, payment(R"({"paymentId":"p","amount":{"value":1.5}})")),
            "passes");
}

TEST(Validators, EmptyAndNullHeadersAreMissing) {
  const auto headers = require_headers({"tenant"});
  Message message = payment("{}");
  message.headers = {{"tenant", ""}};
  EXPECT_EQ(headers->check(message)->type, "MissingHeader");
  message.headers = {{"tenant", "x", HeaderType::null}};
  EXPECT_TRUE(headers->check(message));
  message.headers = {{"TENANT", "x"}};
  EXPECT_FALSE(headers->check(message));
}

TEST(Validators, NullAndEmptyPayloadsAreNoJsonUnlessAllowed) {
  const auto strict = must(require_json({}));
  EXPECT_EQ(strict->check(payment(std::nullopt))->text, "the message has no payload");
  EXPECT_TRUE(strict->check(payment("")));
  JsonRules tombstones;
  tombstones.null_payload = true;
  EXPECT_FALSE(must(require_json(tombstones))->check(payment(std::nullopt)));
  EXPECT_TRUE(must(require_json(tombstones))->check(payment("")));
}

TEST(Validators, RepeatedKeysPassAndTheLastOneCounts) {
  const auto schema = must(require_fields({{"id", FieldType::integer, ""}}));
  EXPECT_FALSE(schema->check(payment(R"({"id":"x","id":7})")));
  EXPECT_TRUE(schema->check(payment(R"({"id":7,"id":"x"})")));
}

TEST(Validators, DepthIsBounded) {
  JsonRules rules;
  rules.deepest = 3;
  const auto json = must(require_json(rules));
  EXPECT_FALSE(json->check(payment("[[[]]]")));
  EXPECT_THAT(json->check(payment("[[[[]]]]"))->text, HasSubstr("nested too deeply"));
}

struct TypeRow {
  const char* value;
  FieldType type;
  bool passes;
};

TEST(Validators, TypesMeanWhatTheySay) {
  for (const TypeRow& row : std::vector<TypeRow>{{"1", FieldType::integer, true},
                                                 {"-1", FieldType::integer, true},
                                                 {"1.0", FieldType::integer, false},
                                                 {"1e3", FieldType::integer, false},
                                                 {"1e3", FieldType::number, true},
                                                 {"\"1\"", FieldType::number, false},
                                                 {"true", FieldType::boolean, true},
                                                 {"\"true\"", FieldType::boolean, false},
                                                 {"[]", FieldType::array, true},
                                                 {"{}", FieldType::array, false},
                                                 {"{}", FieldType::object, true},
                                                 {"\"\"", FieldType::string, true},
                                                 {"0", FieldType::any, true},
                                                 {"null", FieldType::any, false}}) {
    const auto schema = must(require_fields({{"x", row.type, ""}}));
    const bool passes = !schema->check(payment(std::string("{\"x\":") + row.value + "}"));
    EXPECT_EQ(passes, row.passes) << row.value << " as " << name_of(row.type);
  }
}

TEST(Validators, BadPathsAndTypesAreRefusedWhenConfigured) {
  EXPECT_FALSE(require_fields({{"a..b", FieldType::any, ""}}));
  EXPECT_FALSE(require_json({{{"", FieldType::any, ""}}}));
  EXPECT_EQ(must(parse_field_type("integer")), FieldType::integer);
  const auto refused = parse_field_type("nummer");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("did you mean \"number\"?"));
}

RC_GTEST_PROP(Validators, AnyBytesAreJudgedWithoutACrash, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto noise = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  Message message = payment(bytes);
  message.event_type = noise;
  message.headers = {{noise, bytes}};
  RC_ASSERT(must(require_json({}))->check(message).has_value() ||
            json_mistake(bytes) == std::nullopt);
  const auto schema = must(require_fields({{"a.b", FieldType::string, ""}}))->check(message);
  RC_ASSERT(schema.has_value());
  static_cast<void>(require_headers({"event-type", "x"})->check(message));
}

}  // namespace
}  // namespace dlo
