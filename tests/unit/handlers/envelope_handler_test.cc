// What executors are told beside a task: headers, variables, or one envelope (S2-17, S2-44).
#include "dlo/engine/handlers/envelope_handler.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "support/must.h"
#include "unit/handlers/http_world.h"
#include "unit/handlers/world.h"

#include "dlo/core/encoding.h"
#include "dlo/core/retry_request.h"
#include "dlo/engine/handlers/command_handler.h"
#include "dlo/json/text/value.h"

namespace dlo::testing {
namespace {

Message task_with(const std::string& targets, std::string payload = R"({"type":"sweep"})") {
  Message task = message_with(std::move(payload));
  task.headers.push_back({std::string(targets_header), targets});
  return task;
}

RunContext third_attempt() {
  RunContext context = context_of_first_attempt();
  context.counters.attempt = 3;
  context.metadata = R"({"targets":["/a"],"team":"data","slos":{"max":15}})";
  return context;
}

std::string many_targets() {
  std::string list = "[";
  for (int i = 0; i < 500; ++i) {
    list +=
        (i == 0 ? "\"/path/to/repository/" : ",\"/path/to/repository/") + std::to_string(i) + "\"";
  }
  return list + "]";
}

TEST(Envelope, HoldsTaskTargetsMetadataAndAttempt) {
  EXPECT_EQ(envelope_of(task_with(R"(["/a"])"), third_attempt()),
            R"({"task_id":"m-1","task":{"type":"sweep"},"targets":["/a"],)"
            R"("metadata":{"team":"data","slos":{"max":15}},"attempt":3})");
}

TEST(Envelope, IsJsonWhateverTheTaskIs) {
  for (const std::string& payload : {std::string("no json \" at all"), std::string("\xff\x00{", 3),
                                     std::string("{\"half\":"), std::string()}) {
    for (const char* targets : {"[", "", "[1]"}) {
      for (const char* metadata : {"", "[1,2]", "\"text\"", "{oops"}) {
        RunContext context = context_of_first_attempt();
        context.metadata = metadata;
        const std::string envelope = envelope_of(task_with(targets, payload), context);
        EXPECT_TRUE(parse_json(envelope)) << envelope;
      }
    }
  }
  Message nothing = message_with(std::nullopt);
  EXPECT_TRUE(envelope_of(nothing, context_of_first_attempt()).find("\"task\":null") !=
              std::string::npos);
}

TEST(Targets, AreAHeaderOfAPush) {
  const LoopbackServer server([](const Request&) { return Reply{http(204, "", "")}; });
  EXPECT_EQ(handler_for(server.url())->run(task_with(R"(["/a b"])"), third_attempt()).kind,
            OutcomeKind::ok);
  const Request got = server.requests().at(0);
  EXPECT_EQ(got.header("dlo-targets"), "[%22/a%20b%22]");
  EXPECT_EQ(got.header("dlo-header-dlo-targets"), "<none>");
  EXPECT_EQ(got.body, R"({"type":"sweep"})");
}

TEST(Targets, OfTenKilobytesTravelInTheEnvelope) {
  const std::string targets = many_targets();
  ASSERT_GT(targets.size(), 10'000U);
  const LoopbackServer server([](const Request&) { return Reply{http(204, "", "")}; });
  EnvelopeHandler handler(handler_for(server.url()));
  EXPECT_EQ(handler.run(task_with(targets), third_attempt()).kind, OutcomeKind::ok);
  const Request got = server.requests().at(0);
  EXPECT_EQ(got.header("content-type"), "application/json");
  EXPECT_EQ(got.header("dlo-headers-omitted"), "<none>");
  const JsonValue body = must(parse_json(got.body));
  EXPECT_EQ(body.find("targets")->raw, targets);
  EXPECT_EQ(body.find("metadata")->find("team")->text(), "data");
}

TEST(Targets, AreAVariableOfACommand) {
  const Scratch scratch;
  CommandOptions options;
  options.argv = {"/bin/sh", "-c", "printf %s \"$DLO_TARGETS\" > " + (scratch / "targets")};
  const auto handler = must(CommandHandler::make(options));
  EXPECT_EQ(handler->run(task_with(R"(["/a b","/c"])"), third_attempt()).kind, OutcomeKind::ok);
  EXPECT_EQ(scratch.read("targets"), R"(["/a b","/c"])");
}

TEST(Envelope, IsWhatACommandReads) {
  const Scratch scratch;
  CommandOptions options;
  options.argv = {"/bin/sh", "-c", "cat > " + (scratch / "input")};
  EnvelopeHandler handler(must(CommandHandler::make(options)));
  EXPECT_EQ(handler.run(task_with(R"(["/a"])"), third_attempt()).kind, OutcomeKind::ok);
  EXPECT_EQ(scratch.read("input"), envelope_of(task_with(R"(["/a"])"), third_attempt()));
}

}  // namespace
}  // namespace dlo::testing
