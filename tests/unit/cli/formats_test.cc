// Every verb in every format: what a program reads is JSON, CSV with moments, or ids.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/cli/cli.h"
#include "dlo/cli/context.h"
#include "dlo/engine/clock.h"
#include "dlo/json/text/value.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

using dlo::testing::must;
using dlo::testing::noon;

constexpr const char* first_id = "00000000000000010000000000000001";

class Formats : public ::testing::Test {
 protected:
  Formats() {
    const auto office = must(SqliteOffice::open(place_.path(), {}));
    for (const std::uint64_t n : {1U, 2U}) {
      auto message = std::make_shared<Message>();
      message->source = "payments";
      message->payload = R"({"status":"failed"})";
      auto letter = std::make_shared<DeadLetter>();
      letter->id = RecordId{Id128{n, n}};
      letter->message = message;
      letter->failure.text = "timed out";
      letter->died_at = noon - std::chrono::hours{n};
      letter->fingerprint = {Id128{7, 7}, "timed out", "text"};
      const Change change = Append{letter, {}};
      must(office->apply({&change, 1}));
    }
  }

  std::string said(std::vector<std::string> words, const char* format = nullptr) {
    words.insert(words.begin(), "dlo");
    words.insert(words.end(), {"--data", place_.path()});
    if (format != nullptr) words.insert(words.end(), {"-o", format});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out;
    err_.str("");
    const ManualClock clock(noon);
    Context context{out, err_, noon};
    context.clock = &clock;
    context.pause = [](Millis) {};
    code_ = run(static_cast<int>(argv.size()), argv.data(), context);
    return out.str();
  }

  dlo::testing::TemporaryDirectory place_;
  std::ostringstream err_;
  int code_ = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

const std::vector<std::vector<std::string>> verbs = {
    {"list"},
    {"show", first_id},
    {"show", first_id, "00000000000000020000000000000002"},
    {"count"},
    {"stats"},
    {"note", first_id, "hello"},
    {"tag", first_id, "vip"},
    {"archive", first_id},
    {"restore", first_id},
    {"archive", "--where", "source:payments", "--yes"},
    {"restore", "--where", "source:payments", "--yes"},
    {"quarantine", "00000000000000020000000000000002"},
    {"rule", "test", first_id},
    {"source", "list"},
    {"source", "show", "payments"},
    {"source", "test", "payments"},
    {"group", "list"},
    {"group", "show", "00000000000000070000000000000007"},
    {"group", "assign", "00000000000000070000000000000007", "ana"},
    {"group", "note", "00000000000000070000000000000007", "seen"},
    {"group", "facets", "00000000000000070000000000000007"},
    {"group", "resolve", "00000000000000070000000000000007", "--yes"},
    {"job", "list"},
    {"queue", "declare", "orders"},
    {"send", "orders", "hello"},
    {"queue", "list"},
    {"queue", "peek", "orders"},
    {"queue", "pause", "orders"},
    {"audit", "list"},
    {"audit", "verify"},
    {"token", "create", "ana"},
    {"token", "list"},
    {"doctor"},
};

std::string named(const std::vector<std::string>& words) {
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : " ") + word;
  return name;
}

TEST_F(Formats, JsonIsOneValueOfEveryVerb) {
  for (const auto& verb : verbs) {
    const std::string out = said(verb, "json");
    EXPECT_EQ(code_, exit_ok) << named(verb) << err_.str();
    EXPECT_TRUE(parse_json(out)) << named(verb) << ": " << out;
  }
}

TEST_F(Formats, EveryLineOfNdjsonIsAValue) {
  for (const auto& verb : verbs) {
    const auto lines = lines_of(said(verb, "ndjson"));
    EXPECT_FALSE(lines.empty()) << named(verb);
    for (const std::string& line : lines) EXPECT_TRUE(parse_json(line)) << named(verb) << line;
  }
}

TEST_F(Formats, CsvHasTitlesAndMomentsInsteadOfAges) {
  for (const auto& verb : verbs) {
    const std::string out = said(verb, "csv");
    const auto lines = lines_of(out);
    ASSERT_GE(lines.size(), 2U) << named(verb) << ": " << out;
    EXPECT_TRUE(
        std::none_of(lines[0].begin(), lines[0].end(), [](char c) { return c >= 'a' && c <= 'z'; }))
        << named(verb) << ": " << lines[0];
    EXPECT_EQ(out.find(" ago"), std::string::npos) << named(verb) << ": " << out;
  }
}

TEST_F(Formats, IdsAreWordsAloneOnTheirLines) {
  for (const auto& verb : verbs) {
    const auto lines = lines_of(said(verb, "id"));
    if (verb.front() == "stats") {
      EXPECT_EQ(code_, exit_usage) << "numbers have no ids, and are refused as such";
      continue;
    }
    EXPECT_FALSE(lines.empty()) << named(verb);
    for (const std::string& line : lines) {
      EXPECT_EQ(line.find(' '), std::string::npos) << named(verb) << ": " << line;
    }
  }
}

TEST_F(Formats, AStatusSomewhereElseInAQueryIsNotTheStatusOfADeadLetter) {
  said({"resolve", first_id});
  const std::string out = said({"discard", "--where", "body.status:failed", "--yes"}, "json");
  EXPECT_NE(out.find("status:open"), std::string::npos) << out;
  EXPECT_NE(said({"show", first_id}).find("resolved"), std::string::npos);
}

TEST_F(Formats, WhatNoServerHoldsCannotBeReceived) {
  said({"send", "orders", "hello"});
  said({"queue", "receive", "orders"});
  EXPECT_EQ(code_, exit_error);
  EXPECT_NE(err_.str().find("start a server"), std::string::npos) << err_.str();
}

TEST_F(Formats, AFailedTaskIsHandedOver) {  // S2-18
  const std::vector<std::string> report = {"report",
                                           "--source",
                                           "workflows",
                                           "--task-id",
                                           "wf_1",
                                           "--task",
                                           R"({"n":1})",
                                           "--target",
                                           "/repo",
                                           "--error",
                                           "Connection timeout",
                                           "--max-retries",
                                           "5",
                                           "--depends-on",
                                           "wf_0"};
  const std::string out = said(report);
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_NE(out.find("wf_1 is kept as "), std::string::npos) << out;
  EXPECT_NE(out.find("waits for wf_0"), std::string::npos) << out;
  EXPECT_NE(said(report, "json").find(R"("dlq_task_id":"wf_1")"), std::string::npos);
  EXPECT_EQ(lines_of(said(report, "id")).at(0).size(), 32U);
  EXPECT_NE(said({"show", "wf_1"}, "json").find(R"("/repo")"), std::string::npos) << err_.str();
}

TEST_F(Formats, ATemplateSaysHowATaskIsRetriedInOneWord) {  // S2-56
  std::vector<std::string> report = {"report",   "--source",   "w",         "--error",
                                     "too much", "--template", "rate-limit"};
  const std::string out = said(report, "json");
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_NE(out.find(R"("limit":5)"), std::string::npos) << out;
  report.insert(report.end(), {"--max-retries", "2"});
  EXPECT_NE(said(report, "json").find(R"("limit":2)"), std::string::npos) << "what is said wins";
  said({"report", "--source", "w", "--error", "x", "--template", "rate-limits"});
  EXPECT_EQ(code_, exit_usage);
  EXPECT_NE(err_.str().find("did you mean \"rate-limit\""), std::string::npos) << err_.str();
}

TEST_F(Formats, ATaskThatIsNotKeptSaysWhy) {
  said({"report", "--source", "w", "--error", "x", "--task", "{"});
  EXPECT_EQ(code_, exit_usage);
  EXPECT_NE(err_.str().find("--task is no JSON"), std::string::npos) << err_.str();
  said({"report", "--source", "w", "--error", "x", "--policy", "sometimes"});
  EXPECT_EQ(code_, exit_usage);
  EXPECT_NE(err_.str().find("sometimes"), std::string::npos) << err_.str();
  said({"report", "--source", "w", "--error", "x", "--task-id", "a", "--depends-on", "a"});
  EXPECT_EQ(code_, exit_error);
  EXPECT_NE(err_.str().find("for ever"), std::string::npos) << err_.str();
}

TEST_F(Formats, RulesAreSimulatedForPeopleAndPrograms) {
  const std::string people = said({"rule", "simulate", "--source", "payments"});
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_NE(people.find("Looked at 2 dead letters"), std::string::npos) << people;
  EXPECT_TRUE(parse_json(said({"rule", "simulate"}, "json")));
  said({"rule", "simulate", "--source", "nobody"});
  EXPECT_EQ(code_, exit_nothing_matched);
}

TEST_F(Formats, AnOfficeThatIsUpToDateNeedsNoMigration) {
  std::vector<std::string> words{"migrate"};
  EXPECT_NE(said(words).find("nothing to do"), std::string::npos);
  EXPECT_EQ(code_, exit_ok);
}

TEST_F(Formats, GroupsAreChosenByWhatPeopleSaidOfThem) {
  const std::string group = "00000000000000070000000000000007";
  said({"group", "assign", group, "ana"});
  EXPECT_NE(said({"group", "list", "--owner", "ana"}, "id").find(group), std::string::npos);
  EXPECT_EQ(said({"group", "list", "--owner", "bob"}, "id"), "");
  EXPECT_EQ(code_, exit_nothing_matched);
  EXPECT_NE(said({"group", "list", "--status", "open,fixing"}, "id").find(group),
            std::string::npos);
  EXPECT_EQ(said({"group", "list", "--status", "resolved"}, "id"), "");
  EXPECT_EQ(said({"group", "list", "--tag", "vip"}, "id"), "");
}

TEST_F(Formats, OneIsShownAndAllAreExportedInTheWordsOfADocument) {
  const std::string own = said({"show", first_id}, "json");
  const std::string shown = said({"show", first_id, "--form", "workflow"}, "json");
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_TRUE(parse_json(shown)) << shown;
  EXPECT_NE(shown, own);
  EXPECT_EQ(said({"show", first_id, "--form", "workflow"}), shown);
  const std::string all = said({"export", "--form", "workflow"});
  EXPECT_EQ(lines_of(all).size(), 2U) << all;
  EXPECT_NE(all.find(shown), std::string::npos) << all;
  said({"show", first_id, "--form", "poem"});
  EXPECT_EQ(code_, exit_usage);
}

TEST_F(Formats, ProgramsAreGivenTheWholeTrailAndPeopleAScreenful) {
  for (int i = 0; i < 105; ++i) said({"note", first_id, "n" + std::to_string(i)});
  EXPECT_EQ(lines_of(said({"audit", "list"}, "ndjson")).size(), 105U);
  EXPECT_EQ(lines_of(said({"audit", "list", "--limit", "7"}, "ndjson")).size(), 7U);
  EXPECT_EQ(lines_of(said({"audit", "list"})).size(), 101U);  // and the titles
  EXPECT_NE(err_.str().find("--after 100"), std::string::npos) << err_.str();
  EXPECT_EQ(lines_of(said({"audit", "list", "--all"})).size(), 106U);
}

TEST_F(Formats, GroupsShowTheirMarks) {
  EXPECT_NE(said({"group", "list"}).find("NEW"), std::string::npos);
}

}  // namespace
}  // namespace dlo::cli
