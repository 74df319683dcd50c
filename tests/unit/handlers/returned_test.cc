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
    {"AnotherWord",      R"({"status":"FAILURE"})",                              ""},
    {"AnotherPlace",     R"({"result":{"status":"failed"}})",                    ""},
    {"NumberAsStatus",   R"({"status":500})",                                    ""},
    {"AList",            R"([{"status":"failed"}])",                             ""},
    {"NoJson",           R"(status: failed)",                                    ""},
    {"Torn",             R"({"status":"failed")",                                ""},
    {"Empty",            "",                                                     ""},
}), [](const auto& row) { return row.param.name; });
// clang-format on

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
