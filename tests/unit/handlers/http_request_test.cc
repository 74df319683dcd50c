#include "dlo/engine/handlers/http_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <openssl/hmac.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "support/must.h"
#include "unit/handlers/world.h"

#include "dlo/core/encoding.h"

namespace dlo {
namespace {

using dlo::testing::context_of_first_attempt;
using dlo::testing::must;
using dlo::testing::noon;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

using Sent = std::map<std::string, std::string>;

Sent sent(const Message& message, const RunContext& context = context_of_first_attempt(),
          const std::vector<std::string>& pass = {}, const Signer& signer = {}) {
  Sent out;
  for (const auto& [name, value] : push_headers(message, context, pass, signer, noon)) {
    EXPECT_TRUE(out.emplace(name, value).second) << name << " is sent twice";
  }
  return out;
}

Message order() {
  Message message;
  message.id = "m-1";
  message.source = "orders";
  message.event_type = "OrderPlaced";
  message.key = "customer 7";
  message.content_type = "application/json";
  message.enqueued_at = noon;
  message.payload = "{}";
  return message;
}

TEST(PushHeaders, AMessageBecomesACloudEvent) {
  const Sent headers = sent(order());
  for (const auto& [name, value] : Sent{{"ce-specversion", "1.0"},
                                        {"ce-id", "m-1"},
                                        {"ce-source", "/orders"},
                                        {"ce-type", "OrderPlaced"},
                                        {"ce-time", "2026-03-01T12:00:00.000Z"},
                                        {"ce-partitionkey", "customer%207"},
                                        {"content-type", "application/json"},
                                        {"dlo-id", "00112233445566778899aabbccddeeff"},
                                        {"idempotency-key", "00112233445566778899aabbccddeeff"},
                                        {"dlo-attempt", "1"},
                                        {"dlo-fence", "00000000000000070000000000000009"}}) {
    EXPECT_THAT(headers, Contains(Pair(name, value)));
  }
  EXPECT_THAT(headers, Not(Contains(Key("ce-subject"))));
  EXPECT_THAT(headers, Not(Contains(Key("dlo-replay"))));
  EXPECT_THAT(headers, Not(Contains(Key("webhook-signature"))));
}

TEST(PushHeaders, RequiredAttributesAreThereEvenIfTheMessageSaysNothing) {
  Message bare;
  auto context = context_of_first_attempt();
  context.counters.replay = 2;
  const Sent headers = sent(bare, context);
  EXPECT_THAT(headers, Contains(Pair("ce-id", "00112233445566778899aabbccddeeff")));
  EXPECT_THAT(headers, Contains(Pair("ce-source", "/")));
  EXPECT_THAT(headers, Contains(Pair("ce-type", "dlo.message")));
  EXPECT_THAT(headers, Contains(Pair("content-type", "application/octet-stream")));
  EXPECT_THAT(headers, Contains(Pair("dlo-payload", "null")));
  EXPECT_THAT(headers, Contains(Pair("dlo-replay", "2")));
  EXPECT_THAT(headers, Not(Contains(Key("ce-time"))));
}

TEST(PushHeaders, AMessageThatIsACloudEventKeepsItsAttributesFromAnyBinding) {
  for (const char* prefix : {"ce-", "ce_", "cloudEvents:", "cloudEvents_"}) {
    Message event = order();
    const std::string p = prefix;
    event.headers = {{p + "id", "their-id"},
                     {p + "source", "//shop.example/a b"},
                     {p + "type", "com.example.placed"},
                     {p + "tenant", "M\xC3\xBCller"},
                     {p + "datacontenttype", "text/plain"},
                     {p + "bad name", "x"}};
    const Sent headers = sent(event);
    EXPECT_THAT(headers, Contains(Pair("ce-id", "their-id")));
    EXPECT_THAT(headers, Contains(Pair("ce-source", "//shop.example/a%20b")));
    EXPECT_THAT(headers, Contains(Pair("ce-type", "com.example.placed")));
    EXPECT_THAT(headers, Contains(Pair("ce-tenant", "M%C3%BCller")));
    EXPECT_THAT(headers, Not(Contains(Key("ce-datacontenttype"))));
  }
}

TEST(PushHeaders, InStructuredModeTheEventIsInTheBodyOnly) {
  Message event = order();
  event.content_type = "Application/CloudEvents+json; charset=utf-8";
  const Sent headers = sent(event);
  EXPECT_THAT(headers, Contains(Pair("content-type", event.content_type)));
  for (const auto& [name, value] : headers) EXPECT_FALSE(name.starts_with("ce-")) << name;
}

TEST(PushHeaders, ValuesAreEncodedAsTheCloudEventsBindingSays) {
  EXPECT_EQ(percent_encode("Euro \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "Euro%20%E2%82%AC%20%F0%9F%98%80");
  EXPECT_EQ(percent_encode("a\"b%c~!"), "a%22b%25c~!");
  EXPECT_EQ(percent_encode(std::string("\r\n\0\x7F", 4)), "%0D%0A%00%7F");
}

TEST(PushHeaders, OriginalHeadersTravelUnderAPrefix) {
  Message message = order();
  message.headers = {{"event-type", "first"},
                     {"Event-Type", "last wins"},
                     {"authorization", "Bearer stolen"},
                     {"b\xC3\xA4r:x%", "v"},
                     {"count", "3", HeaderType::integer},
                     {"blob", "\x01", HeaderType::bytes},
                     {"nothing", "", HeaderType::null},
                     {"empty", ""}};
  const Sent headers = sent(message);
  EXPECT_THAT(headers, Contains(Pair("dlo-header-event-type", "last%20wins")));
  EXPECT_THAT(headers, Contains(Pair("dlo-header-authorization", "Bearer%20stolen")));
  EXPECT_THAT(headers, Contains(Pair("dlo-header-b%c3%a4r%3ax%25", "v")));
  EXPECT_THAT(headers, Contains(Pair("dlo-header-count", "3")));
  EXPECT_THAT(headers, Contains(Pair("dlo-header-empty", "")));
  EXPECT_THAT(headers, Not(Contains(Key("authorization"))));
  EXPECT_THAT(headers, Not(Contains(Key("dlo-header-blob"))));
  EXPECT_THAT(headers, Not(Contains(Key("dlo-header-nothing"))));
}

TEST(PushHeaders, OnlyHeadersThatWereAskedForKeepTheirNames) {
  Message message = order();
  message.headers = {{"X-Tenant", "acme inc"},
                     {"Host", "evil.example"},
                     {"webhook-signature", "v1,forged"},
                     {"x-bad", "a\r\nX-Evil: 1"}};
  const Sent headers =
      sent(message, context_of_first_attempt(), {"x-tenant", "host", "webhook-signature", "x-bad"});
  EXPECT_THAT(headers, Contains(Pair("x-tenant", "acme inc")));
  EXPECT_THAT(headers, Not(Contains(Key("host"))));
  EXPECT_THAT(headers, Not(Contains(Key("webhook-signature"))));
  EXPECT_THAT(headers, Not(Contains(Key("x-bad"))));
  EXPECT_THAT(headers, Contains(Pair("dlo-header-x-bad", "a%0D%0AX-Evil:%201")));
}

Message message_of(const std::string& noise, const Headers& headers) {
  Message message;
  message.id = noise;
  message.source = noise;
  message.event_type = noise;
  message.key = noise;
  message.content_type = noise;
  message.correlation_id = noise;
  message.owner = Owner{noise, 1, std::nullopt, ""};
  message.headers = headers;
  return message;
}

/// Bytes that like to break headers.
rc::Gen<std::string> nasty() {
  return rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
      {{3, rc::gen::element('\r', '\n', ':', '\0', ' ', '%', '"', '\x7F', '\xC3')},
       {2, rc::gen::arbitrary<char>()}}));
}

RC_GTEST_PROP(PushHeaders, NoBytesOfAMessageCanBreakOutOfTheirHeader, ()) {
  Headers headers;
  for (int i = 0; i < 4; ++i) headers.push_back({*nasty(), *nasty(), HeaderType::text});
  headers.push_back({"traceparent", *nasty()});
  headers.push_back({"tracestate", *nasty()});
  headers.push_back({"ce-" + *nasty(), *nasty()});
  const auto all = push_headers(message_of(*nasty(), headers), context_of_first_attempt(),
                                {"x-tenant", headers[0].name}, {}, noon);
  for (const auto& [name, value] : all) {
    RC_ASSERT(is_header_name(name));
    RC_ASSERT(is_header_value(value));
  }
}

TEST(PushHeaders, AbsurdHeadersAreLeftOutAndCounted) {
  Message message = order();
  message.id = std::string(100'000, 'i');
  message.key = std::string(100'000, 'k');
  message.event_type = std::string(100'000, 't');
  for (int i = 0; i < 3'000; ++i) {
    message.headers.push_back({"h" + std::to_string(i), std::string(100, 'v')});
  }
  std::size_t size = 0;
  const Sent headers = sent(message);
  for (const auto& [name, value] : headers) size += name.size() + value.size() + 4;
  EXPECT_LT(size, 14U * 1024);
  EXPECT_THAT(headers, Contains(Pair("ce-id", "00112233445566778899aabbccddeeff")));
  EXPECT_THAT(headers, Contains(Key("ce-type")));
  EXPECT_GT(std::stoi(headers.at("dlo-headers-omitted")), 2'800);
}

TEST(PushHeaders, ATraceIsContinuedWithANewSpanAndItsCreationKept) {
  Message message = order();
  message.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
                     {"tracestate", "vendor=1"}};
  auto context = context_of_first_attempt();
  const Sent first = sent(message, context);
  EXPECT_EQ(first.at("traceparent").substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
  EXPECT_EQ(first.at("traceparent").substr(52), "-01");
  EXPECT_NE(first.at("traceparent").substr(36, 16), "b7ad6b7169203331");
  EXPECT_EQ(first.at("tracestate"), "vendor=1");
  EXPECT_EQ(first.at("ce-traceparent"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  context.counters.total = 2;
  EXPECT_NE(sent(message, context).at("traceparent"), first.at("traceparent"));
}

TEST(PushHeaders, ATraceOfALaterVersionIsContinuedByItsKnownPart) {
  Message message = order();
  message.headers = {{"traceparent", "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x"}};
  const Sent headers = sent(message);
  EXPECT_EQ(headers.at("traceparent").substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
  EXPECT_EQ(headers.at("ce-traceparent"), message.headers.front().value);
}

TEST(PushHeaders, ACreationContextIsNeverOverwrittenByAHop) {
  Message message = order();
  message.headers = {{"ce-traceparent", "00-11111111111111111111111111111111-2222222222222222-00"},
                     {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  const Sent headers = sent(message);
  EXPECT_EQ(headers.at("ce-traceparent"),
            "00-11111111111111111111111111111111-2222222222222222-00");
  EXPECT_EQ(headers.at("traceparent").substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
}

TEST(PushHeaders, AMessageWithoutTraceStartsOneNamedAfterItsRecord) {
  for (const char* malformed :
       {"", "garbage", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\r\nX-Evil: 1"}) {
    Message message = order();
    message.headers = {{"traceparent", malformed}, {"tracestate", "vendor=1"}};
    const Sent headers = sent(message);
    EXPECT_EQ(headers.at("traceparent").substr(0, 36), "00-00112233445566778899aabbccddeeff-");
    EXPECT_THAT(headers, Not(Contains(Key("tracestate"))));
    EXPECT_THAT(headers, Not(Contains(Key("ce-traceparent"))));
  }
}

/// OpenSSL's one-shot HMAC, by another road than the code under test.
std::string independent_signature(const std::string& key, const std::string& signed_content) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       static_cast<const unsigned char*>(static_cast<const void*>(signed_content.data())),
       signed_content.size(), out, &size);
  unsigned char text[64];
  const int length = EVP_EncodeBlock(text, out, static_cast<int>(size));
  return "v1," + std::string(text, text + length);
}

TEST(Signature, CoversIdTimeAndBodyOncePerSecret) {
  Message message = order();
  message.payload = std::string("body with \0 and \xFF", 17);
  const std::string raw = "a raw secret that is long enough";
  const std::string key = std::string("\x00\x01\x02\x03 binary key \xFE\xFF", 18);
  const Signer signer = must(Signer::make({"whsec_" + to_base64(key), raw}));
  const Sent headers = sent(message, context_of_first_attempt(), {}, signer);
  const std::string content = "00112233445566778899aabbccddeeff.1772366400." + *message.payload;
  EXPECT_EQ(headers.at("webhook-id"), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(headers.at("webhook-timestamp"), "1772366400");
  EXPECT_EQ(headers.at("webhook-signature"),
            independent_signature(key, content) + " " + independent_signature(raw, content));
}

TEST(Signature, MatchesThePublishedStandardWebhooksVector) {
  const Signer signer = must(Signer::make({"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}));
  EXPECT_EQ(signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", TimePoint{std::chrono::seconds(1614265330)},
                        "{\"test\": 2432232314}"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(Signature, WeakOrBrokenSecretsAreRefusedWithoutRepeatingThem) {
  for (const std::string secret : {"", "too-short", "whsec_", "whsec_not*base64*at*all*"}) {
    const auto made = Signer::make({"a perfectly good secret", secret});
    ASSERT_FALSE(made) << secret;
    EXPECT_THAT(made.error().detail, ::testing::HasSubstr("number 2"));
    EXPECT_THAT(made.error().detail, Not(::testing::HasSubstr("not*base64")));
  }
}

}  // namespace
}  // namespace dlo
