#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "scenario/answers.h"
#include "scenario/program.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// Somebody on call asks why a message died, and what would have happened under other rules.
TEST(Scenario, ADecisionIsExplainedByTheCodeThatTakesIt) {
  const Ended last = run_dlo({"explain", "--profile", "kafka", "--error", "Balance not found",
                              "--type", "InvalidOperationException", "--attempt", "4"});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_NE(last.out.find("dead letter InvalidOperationException"), std::string::npos) << last.out;

  const Ended third =
      run_dlo({"explain", "--profile", "kafka", "--error", "Balance not found", "--type",
               "InvalidOperationException", "--attempt", "3", "-o", "json"});
  EXPECT_NE(third.out.find(R"("verdict":"retry")"), std::string::npos) << third.out;
  EXPECT_NE(third.out.find(R"("delay_ms":8000)"), std::string::npos) << third.out;  // S4-11
}

// What a configuration changes is explained as the server would decide it.
TEST(Scenario, ADecisionUnderAConfigurationIsExplained) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "profiles:\n  careful: {base: standard, limit: 7}\n"
                         "sources:\n  orders: {limit: 2}\n";
  const auto asked = [&](const std::string& profile, std::vector<std::string> more) {
    std::vector<std::string> words = {"explain", "--config",  file, "--profile", profile, "--error",
                                      "refused", "--attempt", "3",  "-o",        "json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_dlo(words);
  };
  EXPECT_NE(asked("careful", {}).out.find(R"("verdict":"retry")"), std::string::npos);
  const Ended orders = asked("careful", {"--source", "orders"});
  EXPECT_NE(orders.out.find(R"("verdict":"dead_letter")"), std::string::npos) << orders.out;
  EXPECT_NE(orders.out.find("source orders"), std::string::npos) << orders.out;
  const Ended unknown = asked("carefull", {});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("careful"), std::string::npos) << unknown.err;
}

TEST(Scenario, AConfigurationWithAnExecutorThatCannotRunIsNotFine) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "executors:\n  mailer: {command: /nowhere/mailer --fast}\n";
  const Ended checked = run_dlo({"config", "check", file});
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_NE(checked.err.find("dlo.yaml:2: executors.mailer: the command /nowhere/mailer"),
            std::string::npos)
      << checked.err;
}

TEST(Scenario, AnExplanationIsATableOrRefusesToBeAnId) {
  const Ended table = run_dlo({"explain", "--error", "x", "--attempt", "1", "-o", "csv"});
  EXPECT_EQ(table.out.find("STEP,TEXT"), 0U) << table.out;
  EXPECT_EQ(run_dlo({"explain", "--error", "x", "--attempt", "1", "-o", "id"}).code, 2);
}

// R11: what is explained is a text, or the failure of a dead letter.
TEST(Scenario, ATextOrADeadLetterIsExplained) {
  const Ended text = run_dlo({"explain", "--profile", "workflow", "Connection timeout"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("network"), std::string::npos) << text.out;

  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"demo", "--messages", "60", "--keep", "--data", place.path()}).code, 0);
  const Ended ids =
      run_dlo({"list", "type:poison", "--limit", "1", "-o", "id", "--data", place.path()});
  const std::string id = ids.out.substr(0, 32);
  ASSERT_EQ(id.size(), 32U) << ids.err;
  const Ended why = run_dlo({"explain", id, "--data", place.path()});
  EXPECT_EQ(why.code, 0) << why.err;
  EXPECT_NE(why.out.find("dead letter MaxAttemptsExceeded: Attempt 5 of 5"), std::string::npos)
      << why.out;
  const Ended sooner = run_dlo({"explain", id, "--attempt", "2", "--data", place.path()});
  EXPECT_NE(sooner.out.find("retry after"), std::string::npos) << sooner.out;
  const Ended other = run_dlo({"explain", id, "--profile", "service-bus", "--data", place.path()});
  EXPECT_NE(other.out.find("dead letter PoisonMessage"), std::string::npos) << other.out;

  EXPECT_EQ(run_dlo({"explain", std::string(32, 'a'), "--data", place.path()}).code, 4);
  const Ended typo = run_dlo({"explain", id + "0", "--data", place.path()});
  EXPECT_EQ(typo.code, 2) << typo.out;
  EXPECT_NE(typo.err.find("this has 33"), std::string::npos) << typo.err;
  EXPECT_EQ(run_dlo({"explain", "--error", id + "0"}).code, 0);
  EXPECT_EQ(run_dlo({"explain"}).code, 2);
  EXPECT_EQ(run_dlo({"explain", "x", "--error", "y"}).code, 2);
}

// The record, the server and the command line say one thing, with and without the file.
TEST(Scenario, AGivenUpDeadLetterIsExplainedAsSuchEverywhere) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "event_types:\n  PaymentFailed: {limit: 3}\n";
  Running server(
      {"serve", "--data", place.path() + "/office", "--listen", "127.0.0.1:0", "--config", file});
  const auto port = port_in(server.read_until("/healthz"));
  HttpClient client(port);
  const auto told = client.ask("POST", "/v1/dead-letters",
                               R"({"source":"orders","event_type":"PaymentFailed","error":"busy",)"
                               R"("attempts":1,"final":true})",
                               "Content-Type: application/json\r\n");
  ASSERT_EQ(told.status, 201) << told.body;
  const std::string id = member(told.body, "id");
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const Ended asked = run_dlo({"explain", id, "--server", url, "-o", "json"});
  const Ended by_file = run_dlo({"explain", id, "--server", url, "--config", file, "-o", "json"});
  const Ended without = run_dlo({"explain", id, "--data", place.path() + "/office", "-o", "json"});
  for (const Ended& each : {asked, by_file, without}) {
    EXPECT_EQ(each.code, 0) << each.err;
    EXPECT_EQ(member(each.out, "verdict"), "dead_letter") << each.out;
    EXPECT_EQ(member(each.out, "limit"), "3") << each.out;
    EXPECT_NE(each.out.find("reported as given up: kept"), std::string::npos) << each.out;
  }
  EXPECT_EQ(asked.out, by_file.out);
  const Ended people = run_dlo({"explain", id, "--server", url});
  EXPECT_NE(people.out.find("record      reported as given up: kept"), std::string::npos)
      << people.out;
  EXPECT_EQ(people.out.find("retry after"), std::string::npos) << people.out;
}

TEST(Scenario, WhatIsOverriddenForAnEventTypeIsShown) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "event_types:\n  PaymentFailed: {limit: 3}\n";
  const Ended said = run_dlo(
      {"explain", "--config", file, "--event-type", "PaymentFailed", "--attempt", "3", "x"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("set by event type PaymentFailed"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("dead letter"), std::string::npos) << said.out;
}

// A profile is judged by what it says, not by what it is made of or called.
TEST(Scenario, AProfileOfOnesOwnThatLosesMessagesIsWarnedOf) {
  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "profiles:\n  careless: {base: standard, invalid: drop}\n"
                         "  holding: {base: kafka+safe, placement: hold}\n"
                         "  fine: {base: kafka+safe, limit: 7}\n";
  const Ended checked = run_dlo({"config", "check", file});
  EXPECT_NE(checked.err.find("profiles.careless: With \"careless\", invalid messages are dropped"),
            std::string::npos)
      << checked.err;
  EXPECT_NE(checked.err.find("(placement: hold)"), std::string::npos) << checked.err;
  EXPECT_EQ(checked.err.find("fine:"), std::string::npos) << checked.err;
  const Ended explained = run_dlo({"explain", "--config", file, "--profile", "careless", "x"});
  EXPECT_NE(explained.err.find("(invalid: drop)"), std::string::npos) << explained.err;
  const Ended declared = run_dlo(
      {"queue", "declare", "orders", R"({"profile":"booking"})", "--data", place.path() + "/q"});
  EXPECT_EQ(declared.code, 0) << declared.err;
  EXPECT_NE(declared.err.find("(invalid: drop)"), std::string::npos) << declared.err;
}

// R10: who takes a document at its word is told once what that costs, and what would not.
TEST(Scenario, TheSafeVariantIsRecommended) {
  const Ended exact = run_dlo({"explain", "--profile", "kafka", "x"});
  EXPECT_EQ(exact.code, 0);
  EXPECT_NE(exact.err.find("\"kafka+safe\" is recommended"), std::string::npos) << exact.err;
  EXPECT_NE(exact.err.find("hold its whole partition, though"), std::string::npos) << exact.err;
  EXPECT_EQ(run_dlo({"explain", "--profile", "kafka+safe", "x"}).err, "");
  EXPECT_EQ(run_dlo({"explain", "x"}).err, "");

  const Ended all = run_dlo({"profile", "list"});
  EXPECT_NE(all.out.find("kafka+safe *"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("standard *"), std::string::npos) << all.out;
  EXPECT_EQ(all.out.find("kafka *"), std::string::npos) << all.out;

  const TemporaryDirectory place;
  const std::string file = place.path() + "/dlo.yaml";
  std::ofstream(file) << "profiles:\n  mine: {base: kafka, limit: 7}\n"
                         "  other: {base: kafka+safe, limit: 7}\n";
  const Ended checked = run_dlo({"config", "check", file});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.err.find("profiles.mine: \"kafka+safe\" is recommended"), std::string::npos)
      << checked.err;
  EXPECT_EQ(checked.err.find("other"), std::string::npos) << checked.err;
}

TEST(Scenario, AMisspeltProfileIsRefusedWithTheNearestName) {
  const Ended refused =
      run_dlo({"explain", "--profile", "bokking", "--error", "x", "--attempt", "1"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("did you mean \"booking\""), std::string::npos) << refused.err;
}

TEST(Scenario, AWrongCommandLineIsAUsageError) {
  EXPECT_EQ(run_dlo({}).code, 2);
  EXPECT_EQ(run_dlo({"explain", "--attempt", "0", "--error", "x"}).code, 2);
  EXPECT_EQ(run_dlo({"list", "-o", "xml"}).code, 2);
  EXPECT_EQ(run_dlo({"explain", "--counter", "fech=2", "x"}).code, 2);
  EXPECT_EQ(run_dlo({"--help"}).code, 0);
  // ... and says what may have been meant.
  const auto suggests = [](std::vector<std::string> words, const std::string& meant) {
    const Ended ended = run_dlo(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.err.find("did you mean \"" + meant + "\"?"), std::string::npos) << ended.err;
  };
  suggests({"lsit"}, "list");
  suggests({"group", "resolv", "x"}, "resolve");
  suggests({"list", "--limt", "3"}, "--limit");
  suggests({"list", "-o", "jsno"}, "json");
}

TEST(Scenario, EveryProfileThatIsListedCanBeShown) {
  const Ended names = run_dlo({"profile", "list", "-o", "id"});
  ASSERT_EQ(names.code, 0);
  std::size_t from = 0;
  int shown = 0;
  for (auto end = names.out.find('\n'); end != std::string::npos;
       end = names.out.find('\n', from)) {
    const std::string name = names.out.substr(from, end - from);
    EXPECT_EQ(run_dlo({"profile", "show", name}).out.substr(0, 6 + name.size()), "name: " + name);
    from = end + 1;
    ++shown;
  }
  EXPECT_GE(shown, 17);
}

}  // namespace
}  // namespace dlo::testing
