// A returned failure is a failure (I5, R2-2), whoever returns it.
#include "dlo/engine/handlers/returned.h"

#include <gtest/gtest.h>
#include <string>

#include "support/must.h"
#include "unit/handlers/http_world.h"
#include "unit/handlers/loopback_server.h"
#include "unit/handlers/world.h"

#include "dlo/engine/handlers/command_handler.h"

namespace dlo::testing {
namespace {

struct Row {
  const char* name;
  std::string result;
  std::string text;  // of the failure; empty: there is none
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class Returned : public ::testing::TestWithParam<Row> {};

TEST_P(Returned, FollowsTheTable) {
  const auto outcome = returned_failure(GetParam().result);
  ASSERT_EQ(outcome.has_value(), !GetParam().text.empty());
  if (!outcome) return;
  EXPECT_EQ(outcome->kind, OutcomeKind::failed);
  EXPECT_EQ(outcome->failure.type, "ReturnedFailure");
  EXPECT_EQ(outcome->failure.text, GetParam().text);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Results, Returned, ::testing::ValuesIn<Row>({
    {"Failed",           R"({"status":"failed","error":"timeout"})",             "timeout"},
    {"Partial",          R"({"status":"partial","errors":["a is down","b"]})",   "a is down"},
    {"ErrorObject",      R"({"error":{"message":"no disk"},"status":"failed"})", "no disk"},
    {"Message",          R"( {"status":"failed","message":"gone"} )",            "gone"},
    {"Detail",           R"({"status":"failed","error":"","detail":"gone"})",    "gone"},
    {"NoWords",          R"({"status":"failed"})",      R"(the executor returned status "failed" and no error)"},
    {"Completed",        R"({"status":"completed","error":"old"})",              ""},
    {"InCapitals",       R"({"status":"FAILED","error":"timeout"})",             "timeout"},
    {"Error",            R"({"status":"error","error":"timeout"})",              "timeout"},
    {"AnotherWord",      R"({"status":"FAILURE"})",                              ""},
    {"AnotherPlace",     R"({"result":{"status":"failed"}})",                    ""},
    {"NumberAsStatus",   R"({"status":500})",                                    ""},
    {"AList",            R"([{"status":"failed"}])",                             ""},
    {"NoJson",           R"(status: failed)",                                    ""},
    {"Torn",             R"({"status":"failed")",                                ""},
    {"Empty",            "",                                                     ""},
}), [](const auto& row) { return row.param.name; });
// clang-format on

/// A result of this size that says so behind everything else.
std::string long_result(std::size_t size) {
  return R"({"log":")" + std::string(size, 'x') + R"(","status":"failed","error":"timeout"})";
}

class ReturnedByAProgram : public ::testing::TestWithParam<Row> {};

TEST_P(ReturnedByAProgram, IsFoundBehindWhateverElseItWrote) {
  const auto outcome = returned_by_program(GetParam().result);
  ASSERT_EQ(outcome.has_value(), !GetParam().text.empty());
  if (!outcome) return;
  EXPECT_EQ(outcome->failure.text, GetParam().text);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Results, ReturnedByAProgram, ::testing::ValuesIn<Row>({
    {"Alone",       R"({"status":"failed","error":"timeout"})",                     "timeout"},
    {"LastLine",    "working\n{\"status\":\"failed\",\"error\":\"timeout\"}\n",      "timeout"},
    {"Pretty",      "working\n{\n  \"status\": \"failed\",\n  \"error\": \"timeout\"\n}\n", "timeout"},
    {"Unindented",  "{\n\"status\": \"failed\",\n\"errors\": [\n{\"message\": \"timeout\"}\n]\n}\n", "timeout"},
    {"Long",        long_result(200'000),                                           "timeout"},
    {"TheLastCounts", "{\"status\":\"failed\"}\n{\"status\":\"completed\"}\n",       ""},
    {"NotTheEnd",   "{\"status\":\"failed\"}\nand then it worked\n",               ""},
    {"NoObject",    "done }\n",                                                     ""},
    {"Nothing",     "",                                                             ""},
}), [](const auto& row) { return row.param.name; });
// clang-format on

TEST(Returned, AnObjectThatWasCutIsAFailureThatSaysSo) {
  const std::string result = long_result(result_limit);
  const auto beginning = returned_failure(std::string_view(result).substr(0, result_limit), true);
  ASSERT_TRUE(beginning);
  EXPECT_NE(beginning->failure.text.find("more than 4 MB"), std::string::npos);
  const auto end = returned_by_program(std::string_view(result).substr(100), true);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->failure, beginning->failure);
  EXPECT_FALSE(returned_failure("a long page", true)) << "no object, whatever came after it";
  EXPECT_FALSE(returned_by_program("a long page", true));
}

const std::string says_it_failed = R"({"status":"failed","error":"no route to the index"})";

TEST(ReturnedOverHttp, IsAFailureWhereResultsAreRead) {
  const LoopbackServer server([](const Request&) {
    return Reply{http(200, "content-type: application/json\r\n", says_it_failed)};
  });
  for (const bool reads : {true, false}) {
    HttpPushOptions options = options_for(server.url());
    options.reads_result = reads;
    const Outcome outcome =
        must(HttpHandler::make(options))->run(message_with("{}"), context_of_first_attempt());
    EXPECT_EQ(outcome.kind, reads ? OutcomeKind::failed : OutcomeKind::ok);
    EXPECT_EQ(outcome.failure.text, reads ? "no route to the index" : "");
  }
}

TEST(ReturnedOverHttp, IsReadToItsEndWhereItIsLong) {
  for (const std::size_t size : {std::size_t{90'000}, std::size_t{1'500'000}, result_limit}) {
    const LoopbackServer server([size](const Request&) {
      return Reply{http(200, "content-type: application/json\r\n", long_result(size))};
    });
    HttpPushOptions options = options_for(server.url());
    options.reads_result = true;
    const Outcome outcome =
        must(HttpHandler::make(options))->run(message_with("{}"), context_of_first_attempt());
    EXPECT_EQ(outcome.kind, OutcomeKind::failed) << size;
    EXPECT_EQ(outcome.failure.code, size == result_limit ? "cut" : "failed");
  }
}

TEST(ReturnedByACommand, IsReadToItsEndWhereItIsLong) {
  for (const int size : {20'000, 1'500'000, 5'000'000}) {
    CommandOptions options;
    options.argv = {"/bin/sh", "-c",
                    "printf '{\"status\":\"failed\",\"log\":\"'; head -c " + std::to_string(size) +
                        " /dev/zero | tr '\\0' z; echo '\"}'"};
    options.reads_result = true;
    const Outcome outcome =
        must(CommandHandler::make(options))->run(message_with("{}"), context_of_first_attempt());
    EXPECT_EQ(outcome.kind, OutcomeKind::failed) << size;
    EXPECT_EQ(outcome.failure.code, size == 5'000'000 ? "cut" : "failed");
  }
}

TEST(ReturnedByACommand, IsAFailureWhereResultsAreRead) {
  for (const bool reads : {true, false}) {
    for (const char* const before : {"", "echo working;"}) {
      CommandOptions options;
      options.argv = {"/bin/sh", "-c", std::string(before) + "echo '" + says_it_failed + "'"};
      options.reads_result = reads;
      const Outcome outcome =
          must(CommandHandler::make(options))->run(message_with("{}"), context_of_first_attempt());
      EXPECT_EQ(outcome.kind, reads ? OutcomeKind::failed : OutcomeKind::ok) << before;
      EXPECT_EQ(outcome.failure.text, reads ? "no route to the index" : "");
    }
  }
}

}  // namespace
}  // namespace dlo::testing
