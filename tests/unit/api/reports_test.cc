#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "unit/api/asking.h"

#include "dlo/core/profile.h"
#include "dlo/core/retry_request.h"

namespace dlo::api {
namespace {

class ReportsTest : public Asking {
 protected:
  Told report(const std::string& body, Headers headers = {}) {
    return say("POST", "/v1/dead-letters", body, std::move(headers));
  }
  Told batch(const std::string& body) {
    return ask("POST", "/v1/dead-letters", body, {{"Content-Type", "application/x-ndjson"}});
  }
};

TEST_F(ReportsTest, WhoHasGivenUpMakesADeadLetterWhateverTheProfileWouldRetry) {
  const Told told = report(R"({"source":"orders","failure":{"type":"Timeout","text":"slow"}})");
  EXPECT_EQ(told.status(), 201) << told;
  EXPECT_EQ(told.at("verdict"), "dead_letter");
  EXPECT_EQ(told.at("effect"), "kept");
  const Told shown = get("/v1/dead-letters/" + told.at("id"));
  EXPECT_EQ(shown.at("failure.type"), "Timeout");
  EXPECT_EQ(shown.at("counters.attempt"), "1");
  EXPECT_EQ(shown.at("source_unsettled"), "false");
}

TEST_F(ReportsTest, WhoCountsAttemptsIsToldWhenToTryAgainAndNothingIsKept) {
  const Told told = report(R"({"source":"orders","error":"slow","attempts":1})");
  EXPECT_EQ(told.status(), 200) << told;
  EXPECT_EQ(told.at("verdict"), "retry");
  EXPECT_EQ(told.at("id"), "null");
  EXPECT_NE(told.at("retry_at"), "?");
  EXPECT_EQ(report(R"({"source":"orders","error":"slow","attempts":5})").at("verdict"),
            "dead_letter");
  EXPECT_EQ(report(R"({"source":"orders","error":"slow","attempts":1,"final":true})").status(),
            201);
}

TEST_F(ReportsTest, UnderEveryProfileWhatWasGivenUpIsKept) {
  for (const Profile& profile : builtin_profiles()) {
    const std::string members = R"({"source":"o","error":"x","profile":")" + profile.name + '"';
    std::vector<std::string> bodies{members + R"(,"attempts":1,"final":true})"};
    if (!office_retries(profile)) bodies.push_back(members + "}");
    for (const std::string& body : bodies) {
      const Told told = report(body);
      EXPECT_EQ(told.status(), 201) << profile.name << told;
      EXPECT_EQ(told.at("verdict"), "dead_letter") << profile.name << told;
      const Told lines = batch(body + "\n");
      EXPECT_TRUE(lines.says(R"("verdict":"dead_letter")")) << profile.name << lines;
    }
  }
}

TEST_F(ReportsTest, WhoToldOfDeathsIsInTheAuditTrailWithADigestOfThem) {  // R25
  batch(R"({"source":"orders","error":"slow"})"
        "\n"
        R"({"source":"mails","error":"slow"})"
        "\n");
  report(R"({"source":"orders","error":"slow","attempts":1})");  // to be retried: nobody died
  const Told trail = get("/v1/audit");
  EXPECT_EQ(trail.at("entries.0.act"), "die") << trail;
  EXPECT_EQ(trail.at("entries.0.subject"), "2 deaths of 2 sources");
  EXPECT_NE(trail.at("entries.0.actor"), "library");
  EXPECT_TRUE(trail.says("ids_sha256"));
  EXPECT_EQ(trail.at("entries.1.act"), "?") << trail;
}

TEST_F(ReportsTest, TheProfileNamedDecides) {
  const Told told =
      report(R"({"source":"o","error":"bad request","attempts":1,"profile":"service-bus"})");
  EXPECT_EQ(told.at("reason"), "NonRetryableError") << told;
  const Told unknown = report(R"({"source":"o","error":"x","profile":"servic-bus"})");
  EXPECT_EQ(unknown.status(), 404);
  EXPECT_TRUE(unknown.says("service-bus")) << unknown;
}

TEST_F(ReportsTest, TheSameMessageIsOneRecordAndMessagesWithoutNamesAreMany) {
  const std::string named = R"({"source":"orders","id":"7","payload":"x","error":"e"})";
  const Told first = report(named);
  const Told second = report(named);
  EXPECT_EQ(second.status(), 200);
  EXPECT_EQ(second.at("effect"), "merged");
  EXPECT_EQ(first.at("id"), second.at("id"));
  const std::string nameless = R"({"source":"orders","payload":"x","error":"e"})";
  EXPECT_NE(report(nameless).at("id"), report(nameless).at("id"));
}

TEST_F(ReportsTest, UnderOneKeyAReportHappensOnce) {
  const std::string body = R"({"source":"orders","payload":"x","error":"e"})";
  const Told first = report(body, {{"Idempotency-Key", "k1"}});
  const Told second = report(body, {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(first.status(), 201);
  EXPECT_EQ(second.status(), 201);
  EXPECT_EQ(first.at("id"), second.at("id"));
  EXPECT_EQ(second.header("Idempotency-Replayed"), "true");
  const Told other = report(R"({"source":"orders","error":"f"})", {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(other.status(), 409) << other;
  EXPECT_NE(report(body, {{"Idempotency-Key", "k2"}}).at("id"), first.at("id"));
  EXPECT_EQ(report(body, {{"Idempotency-Key", ""}}).status(), 400);
}

TEST_F(ReportsTest, UnderOneKeyABatchHappensOnce) {
  const std::string lines =
      "{\"source\":\"orders\",\"payload\":\"x\",\"error\":\"e\"}\n"
      "{\"source\":\"orders\",\"payload\":\"x\",\"error\":\"e\"}\n"
      "{\"source\":7}\n";
  const auto batch = [&](const std::string& key, const std::string& body) {
    return ask("POST", "/v1/dead-letters", body,
               {{"Content-Type", "application/x-ndjson"}, {"Idempotency-Key", key}});
  };
  const auto count = [&] { return get("/v1/stats").at("open"); };
  const Told first = batch("b1", lines);
  EXPECT_EQ(first.status(), 207) << first;
  EXPECT_EQ(count(), "2") << "alike, and yet two";
  const Told second = batch("b1", lines);
  EXPECT_EQ(second.body(), first.body());
  EXPECT_EQ(second.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(count(), "2");
  EXPECT_EQ(batch("b1", lines + lines).status(), 409);

  // Killed before the answer was kept: the same dead letters are met.
  const Document kept = testing::must(office_.extras().ledger->documents("idempotency", "", 10))[0];
  const Change lost = PutDocument{"idempotency", kept.key, std::nullopt, kept.version};
  testing::must(office_.apply({&lost, 1}));
  const Told third = batch("b1", lines);
  EXPECT_TRUE(third.says(R"("effect":"merged")")) << third;
  EXPECT_EQ(count(), "2");
  EXPECT_EQ(batch("b2", lines).status(), 207);
  EXPECT_EQ(count(), "4") << "another key, another batch";
}

TEST_F(ReportsTest, KeysAreForgottenAfterADay) {
  const std::string body = R"({"source":"orders","payload":"x","error":"e"})";
  for (int i = 0; i < 50; ++i) report(body, {{"Idempotency-Key", "old" + std::to_string(i)}});
  clock_.advance(std::chrono::hours{25});
  for (int i = 0; i < 400; ++i) report(body, {{"Idempotency-Key", "new" + std::to_string(i)}});
  Ledger& ledger = *office_.extras().ledger;
  EXPECT_LT(testing::must(ledger.documents("idempotency", "", 1000)).size(), 420U);
}

struct Bad {
  const char* name;
  const char* body;
  const char* word;
};
void PrintTo(const Bad& row, std::ostream* out) {
  *out << row.name;
}
class BadReports : public ReportsTest, public ::testing::WithParamInterface<Bad> {};

TEST_P(BadReports, AreRefusedWithWords) {
  const Told told = report(GetParam().body);
  EXPECT_EQ(told.status(), 400) << told;
  EXPECT_TRUE(told.says(GetParam().word)) << told;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Shapes, BadReports, ::testing::ValuesIn(std::vector<Bad>{
    {"NoSource",      R"({"error":"x"})", "source"},
    {"EmptySource",   R"({"source":"","error":"x"})", "source"},
    {"NoFailure",     R"({"source":"a"})", "failure"},
    {"BothFailures",  R"({"source":"a","error":"x","failure":{"text":"y"}})", "error"},
    {"BothPayloads",  R"({"source":"a","error":"x","payload":"p","json":{}})", "json"},
    {"UnknownMember", R"({"source":"a","error":"x","evnt_type":"y"})", "evnt_type"},
    {"UnknownInside", R"({"source":"a","failure":{"txt":"x"}})", "txt"},
    {"Twice",         R"({"source":"a","source":"b","error":"x"})", "twice"},
    {"NoAttempt",     R"({"source":"a","error":"x","attempts":0})", "attempts"},
    {"HalfAttempt",   R"({"source":"a","error":"x","attempts":1.5})", "attempts"},
    {"NotJson",       "source=a", "JSON"},
    {"Deep",          R"({"source":"a","error":"x","metadata":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]})", "JSON"},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST_F(ReportsTest, WhoGetsAMemberWrongIsShownWhatIsRight) {
  const Told headers = report(R"({"source":"a","error":"x","headers":{"tenant":"acme"}})");
  EXPECT_EQ(headers.status(), 400);
  EXPECT_TRUE(headers.at("detail").find(R"([{"name": "tenant", "value": "acme"}])") !=
              std::string::npos)
      << headers;
  const Told none = report(R"({"source":"a","error":"x","attempts":0})");
  EXPECT_EQ(none.status(), 400);
  EXPECT_TRUE(none.says("attempts must be a whole number from 1 to 1000000")) << none;
  EXPECT_EQ(report(R"({"source":"a","error":"x","attempts":-1})").at("detail"), none.at("detail"));
}

TEST_F(ReportsTest, NamesThatWouldFillEveryListAreRefused) {
  const std::string most(1'024, 'n');
  for (const char* member : {"source", "id", "event_type", "key", "correlation_id", "handler"}) {
    const auto body = [&](const std::string& name) {
      const std::string source = member == std::string_view("source") ? "" : R"("source":"a",)";
      return "{" + source + R"("error":"x",")" + member + R"(":")" + name + R"("})";
    };
    EXPECT_EQ(report(body(most)).status(), 201) << member;
    const Told refused = report(body(most + "n"));
    EXPECT_EQ(refused.status(), 400) << member;
    EXPECT_TRUE(refused.says(member + std::string(" has 1025 bytes; at most 1024 are possible")))
        << refused;
  }
}

TEST_F(ReportsTest, OtherKindsOfBodiesAre415) {
  EXPECT_EQ(ask("POST", "/v1/dead-letters", "a=b",
                {{"Content-Type", "application/x-www-form-urlencoded"}})
                .status(),
            415);
}

TEST_F(ReportsTest, ABatchIsKeptLineByLineAndABadLineCostsNoOther) {
  const Told told = batch(
      "{\"source\":\"a\",\"id\":\"1\",\"error\":\"x\"}\n"
      "{\"source\":\"a\",\"id\":\"2\"\n"
      "\n"
      "{\"source\":\"a\",\"id\":\"3\",\"error\":\"x\",\"profile\":\"nobody\"}\n"
      "{\"source\":\"a\",\"id\":\"4\",\"error\":\"x\"}");
  EXPECT_EQ(told.status(), 207) << told;
  EXPECT_EQ(std::count(told.body().begin(), told.body().end(), '\n'), 4);
  EXPECT_TRUE(told.says(R"({"line":1,"status":201)")) << told;
  EXPECT_TRUE(told.says(R"({"line":2,"status":400,"code":"invalid_argument")"));
  EXPECT_TRUE(told.says(R"({"line":4,"status":404,"code":"not_found")"));
  EXPECT_TRUE(told.says(R"({"line":5,"status":201)"));
  EXPECT_EQ(get("/v1/stats").at("open"), "2");
}

TEST_F(ReportsTest, ManyAtOnceAreAllAnswered) {
  start();
  std::vector<std::thread> reporters;
  std::atomic<int> kept{0};
  for (int t = 0; t < 8; ++t) {
    reporters.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        kept += report(R"({"source":"a","error":"x","id":")" + id + "\"}").status() == 201;
      }
    });
  }
  for (auto& reporter : reporters) reporter.join();
  EXPECT_EQ(kept, 400);
  EXPECT_EQ(get("/v1/stats").at("open"), "400");
}

}  // namespace
}  // namespace dlo::api
