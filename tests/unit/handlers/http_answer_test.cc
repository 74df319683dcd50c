#include "dlo/engine/handlers/http_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/must.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using dlo::testing::noon;

HttpAnswer problem(std::string body) {
  return {422, "Application/Problem+JSON; charset=utf-8", "", "", std::move(body), false};
}

TEST(HttpAnswer, AProblemDocumentGivesTypeTextAndCode) {
  const Failure failure = failure_of(
      problem(
          R"({"type":"https://example.org/no-balance","title":"No balance",)"
          R"("detail":"merchant 7 has none","code":"no_balance","status":422,"x":[1,{"y":2}]})"),
      "http://here/", noon);
  EXPECT_EQ(failure.type, "https://example.org/no-balance");
  EXPECT_EQ(failure.text,
            "HTTP 422 Unprocessable Content from http://here/: No balance: merchant 7 has none");
  EXPECT_EQ(failure.code, "no_balance");
  EXPECT_EQ(failure.status, 422);
}

TEST(HttpAnswer, AProblemWithoutTypeIsAnOrdinaryStatus) {
  EXPECT_EQ(failure_of(problem(R"({"type":"about:blank","title":"T"})"), "x", noon).type,
            "HttpStatus");
  EXPECT_EQ(failure_of(problem(R"({"title":"T"})"), "x", noon).type, "HttpStatus");
}

TEST(HttpAnswer, ABrokenProblemDocumentIsShownAsItIs) {
  for (const char* body : {"{\"type\":\"cut of", "[1,2]", "\"text\"", "{\"a\":1}x"}) {
    const Failure failure = failure_of(problem(body), "x", noon);
    EXPECT_EQ(failure.type, "HttpStatus");
    EXPECT_EQ(failure.text, "HTTP 422 Unprocessable Content from x: " + std::string(body));
  }
}

TEST(HttpAnswer, DeeplyNestedProblemsDoNoHarm) {
  const Failure failure = failure_of(problem(std::string(60'000, '[')), "x", noon);
  EXPECT_EQ(failure.type, "HttpStatus");
  EXPECT_LT(failure.text.size(), 5'000U);
}

TEST(HttpAnswer, TextIsCleanedAndCutAndBinaryIsLeftOut) {
  EXPECT_EQ(
      failure_of({500, "text/plain", "", "", "bad \xFF\x1B[31m thing\r\n", false}, "x", noon).text,
      "HTTP 500 Internal Server Error from x: bad \uFFFD thing");
  const Failure cut = failure_of({500, "", "", "", std::string(60'000, 'a'), true}, "x", noon);
  EXPECT_THAT(cut.text, ::testing::EndsWith("aaa [cut]"));
  EXPECT_LT(cut.text.size(), 5'000U);
  EXPECT_EQ(failure_of({500, "image/png", "", "", "\x89PNG", false}, "x", noon).text,
            "HTTP 500 Internal Server Error from x");
}

TEST(HttpAnswer, AnUnknownStatusIsStillANumber) {
  const Failure failure = failure_of({599, "", "", "", "", false}, "x", noon);
  EXPECT_EQ(failure.text, "HTTP 599 from x");
  EXPECT_EQ(failure.status, 599);
}

struct Row {
  const char* name;
  const char* text;
  std::optional<Millis> wait;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class RetryAfter : public ::testing::TestWithParam<Row> {};

TEST_P(RetryAfter, FollowsTheTable) {
  EXPECT_EQ(parse_retry_after(GetParam().text, noon), GetParam().wait);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Http, RetryAfter, ::testing::ValuesIn<Row>({
    {"Seconds",          "120",                            120s},
    {"Zero",             "0",                              0s},
    {"BlanksAround",     " 7\t",                           7s},
    {"ImfFixdate",       "Sun, 01 Mar 2026 12:00:30 GMT",  30s},
    {"Rfc850",           "Sunday, 01-Mar-26 12:01:00 GMT", 60s},
    {"Asctime",          "Sun Mar  1 12:00:10 2026",       10s},
    {"PastDate",         "Sun, 01 Mar 2026 11:00:00 GMT",  0s},
    {"FarDateIsAYear",   "Fri, 01 Mar 2126 12:00:00 GMT",  24h * 365},
    {"HugeIsAYear",      "99999999999999999999999999",     24h * 365},
    {"Negative",         "-5",                             std::nullopt},
    {"Fraction",         "1.5",                            std::nullopt},
    {"Words",            "soon",                           std::nullopt},
    {"Empty",            "",                               std::nullopt},
    {"NumberAndJunk",    "5 minutes",                      std::nullopt},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(HttpAnswer, UrlsArePrintedWithoutWhatMayBeSecret) {
  EXPECT_EQ(printable_url("https://user:pw@host:81/p/a?token=s#f"), "https://host:81/p/a");
  EXPECT_EQ(printable_url("http://host?x@y"), "http://host");
  EXPECT_EQ(printable_url("http://a@b@host/x@y"), "http://host/x@y");
}

}  // namespace
}  // namespace dlo
