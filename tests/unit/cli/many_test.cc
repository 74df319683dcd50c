// What there is much of: sources, ids from a pipe, pages of a board.
#include <fstream>
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
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

using dlo::testing::must;
using dlo::testing::noon;

class Many : public ::testing::Test {
 protected:
  void fill(std::size_t count, const std::string& source, std::uint64_t first = 1) {
    const auto office = must(SqliteOffice::open(place_.path(), {}));
    std::vector<Change> changes;
    for (std::size_t i = 0; i < count; ++i) {
      auto message = std::make_shared<Message>();
      message->source = source;
      message->payload = R"({"a":0})";
      auto letter = std::make_shared<DeadLetter>();
      letter->id = RecordId{Id128{first + i, 1}};
      letter->message = message;
      letter->failure.text = "timed out";
      letter->died_at = noon - Millis{static_cast<std::int64_t>(first + i)};
      letter->fingerprint = {Id128{7, 7}, "timed out", "text"};
      changes.emplace_back(Append{letter, {}});
    }
    must(office->apply(changes));
  }

  std::string said(std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.begin(), "dlo");
    words.insert(words.end(), {"--data", place_.path()});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out;
    std::istringstream in(input);
    err_.str("");
    const ManualClock clock(noon);
    Context context{out, err_, noon};
    context.clock = &clock;
    context.in = &in;
    context.pause = [](Millis) {};
    context.width = width_;
    if (!keys_.empty()) {
      context.width = 120;
      context.height = 12;  // four rows
      context.key = [this](Millis) { return next_key(); };
    }
    code_ = run(static_cast<int>(argv.size()), argv.data(), context);
    return out.str();
  }
  std::string next_key() {
    if (keys_.empty()) return "q";
    std::string key = keys_.front();
    keys_.erase(keys_.begin());
    return key;
  }
  static std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
  /// The last screen that was drawn.
  std::string board(std::vector<std::string> keys) {
    keys_ = std::move(keys);
    keys_.emplace_back("q");
    const std::string all = said({"top"});
    return all.substr(all.rfind("\x1b[2J"));
  }

  dlo::testing::TemporaryDirectory place_;
  std::ostringstream err_;
  std::vector<std::string> keys_;
  std::size_t width_ = 0;
  int code_ = 0;
};

TEST_F(Many, StatsNameFirstWhoHasMostToDo) {  // S1-34, S1-38
  fill(1, "aaa");
  fill(3, "zzz", 10);
  fill(2, "mmm", 20);
  const std::string out = said({"stats"});
  EXPECT_LT(out.find("zzz"), out.find("mmm")) << out;
  EXPECT_LT(out.find("mmm"), out.find("aaa")) << out;
}

TEST_F(Many, MoreIdsThanAJobTakesAreOnePlanOneQuestionAndOneAnswer) {
  fill(1500, "payments");
  const std::string steps = place_.path() + "/steps.json";
  std::ofstream(steps) << R"([{"set":"a","value":1}])";
  const std::string ids = said({"list", "-o", "id", "--limit", "1500"});
  ASSERT_EQ(count_of(ids, "\n"), 1500U);
  said({"repair", "-", "--patch", steps}, ids);
  EXPECT_EQ(code_, exit_usage) << "nobody said yes";
  EXPECT_EQ(count_of(err_.str(), "Plan: "), 1U) << err_.str();
  EXPECT_NE(err_.str().find("repair 1500 dead letters, in 2 jobs"), std::string::npos);
  EXPECT_EQ(said({"list", "body.a:1", "-o", "id"}), "") << "nothing was done";

  const std::string out = said({"repair", "-", "--patch", steps, "--yes"}, ids + ids);
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_NE(out.find("2 jobs are done: ok 1500"), std::string::npos) << out;
  const std::string limited =
      said({"repair", "-", "--patch", steps, "--dry-run", "--limit", "3"}, ids);
  EXPECT_EQ(count_of(limited, "job "), 1U) << limited;
}

TEST_F(Many, SeveralIdsAreAJobThatIsDoneWhenTheCommandEnds) {
  fill(5, "payments");
  const std::string ids = said({"list", "-o", "id"});
  const std::string out = said({"archive", "-"}, ids);
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_NE(out.find("is done: ok 5"), std::string::npos) << out;
  EXPECT_EQ(count_of(said({"job", "list", "-o", "id"}), "\n"), 1U);
  EXPECT_EQ(said({"list", "status:archived", "-o", "id"}), ids);
  said({"discard", "-"}, said({"list", "status:archived", "-o", "id"}));
  EXPECT_EQ(code_, exit_usage) << "nobody said yes";
}

TEST_F(Many, ALimitHoldsForIdsToo) {
  fill(5, "payments");
  const std::string ids = said({"list", "-o", "id"});
  said({"archive", "-", "--limit", "1"}, ids);
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_EQ(count_of(said({"list", "status:archived", "-o", "id"}), "\n"), 1U);
}

TEST_F(Many, AnEmptyPipeIsNotEverything) {
  fill(5, "payments");
  for (const char* verb : {"archive", "replay", "discard"}) {
    said({verb, "-", "--yes"}, "");
    EXPECT_EQ(code_, exit_nothing_matched) << verb;
    said({verb, "-", "--source", "payments", "--yes"}, "");
    EXPECT_EQ(code_, exit_usage) << verb << ": ids or a query, not both";
  }
  EXPECT_EQ(count_of(said({"list", "status:open", "-o", "id"}), "\n"), 5U);
}

TEST_F(Many, IdsFromAPipeAreTagged) {
  fill(3, "payments");
  said({"tag", "-", "vip"}, said({"list", "-o", "id"}));
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_EQ(count_of(said({"list", "tag:vip", "-o", "id"}), "\n"), 3U);
}

TEST_F(Many, AnExportThatFailsLeavesTheFileAsItWas) {
  fill(3, "payments");
  const std::string file = place_.path() + "/letters.ndjson";
  std::ofstream(file) << "precious\n";
  said({"export", "statsu:open", "--file", file});
  EXPECT_EQ(code_, exit_usage);
  std::string kept;
  std::getline(std::ifstream(file) >> std::ws, kept);
  EXPECT_EQ(kept, "precious");
  said({"export", "source:payments", "--file", file});
  EXPECT_EQ(code_, exit_ok) << err_.str();
  std::getline(std::ifstream(file) >> std::ws, kept);
  EXPECT_NE(kept.find("payments"), std::string::npos);
}

TEST_F(Many, WhatAJobFailedWithIsOneJobMore) {
  fill(1500, "payments");
  said({"retry", "--source", "payments", "--yes"});  // nobody here runs retries
  const std::string job = said({"job", "list", "-o", "id"});
  const std::string first = job.substr(0, job.find('\n'));
  const std::string again = said({"job", "retry-failed", first, "--yes"});
  EXPECT_NE(err_.str().find("retry 1500 dead letters"), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("from   job " + first), std::string::npos) << err_.str();
  EXPECT_EQ(count_of(again, "job "), 1U) << again;
  EXPECT_NE(again.find("refused 1500"), std::string::npos) << again;

  said({"archive", "--source", "payments", "--yes"});
  const std::string done = said({"job", "list", "-o", "id", "--act", "archive"});
  ASSERT_EQ(count_of(done, "\n"), 1U) << done;
  said({"job", "retry-failed", done.substr(0, done.find('\n')), "--yes"});
  EXPECT_EQ(code_, exit_nothing_matched);
  EXPECT_NE(err_.str().find("failed with none"), std::string::npos) << err_.str();
}

TEST_F(Many, JobsAreListedByPagesAndByWhatTheyAre) {
  fill(1, "payments");
  for (int i = 0; i < 3; ++i) said({"archive", "--source", "payments", "--dry-run"});
  EXPECT_EQ(count_of(said({"job", "list", "-o", "id"}), "\n"), 3U);
  EXPECT_EQ(count_of(said({"job", "list", "-o", "id", "--limit", "2"}), "\n"), 2U);
  const std::string more = "More: add --cursor ";
  const auto at = err_.str().find(more);
  ASSERT_NE(at, std::string::npos) << err_.str();
  std::string cursor = err_.str().substr(at + more.size());
  cursor.pop_back();
  EXPECT_EQ(count_of(said({"job", "list", "-o", "id", "--cursor", cursor}), "\n"), 1U);
  EXPECT_EQ(said({"job", "list", "-o", "id", "--state", "failed,done"}), "");
  EXPECT_EQ(code_, exit_nothing_matched);
}

TEST_F(Many, WhyReplaysAreRefusedIsTold) {
  fill(1, "payments");
  const std::string ids = said({"list", "-o", "id"});
  said({"quarantine", "-"}, ids);
  said({"queue", "declare", "payments"});
  const std::string out = said({"replay", "-", "--yes", "--wait"}, ids);
  EXPECT_EQ(code_, exit_partial) << out << err_.str();
  EXPECT_NE(err_.str().find("--quarantined-too"), std::string::npos) << err_.str();
}

TEST_F(Many, ADryRunSaysWhereTheyGoAndWhyTheyDied) {
  fill(3, "payments");
  fill(2, "mails", 10);
  said({"replay", "--where", "status:open", "--dry-run"});
  for (const char* line : {"  target payments: ", "  target mails: ", "  reason : 5\n"}) {
    EXPECT_NE(err_.str().find(line), std::string::npos) << line << err_.str();
  }
}

// A plan counts to a bound; how many they are is known when the set is written down.
TEST_F(Many, TheBarOfALargeJobIsOfAllThatItIsAbout) {
  fill(10'400, "payments");
  const std::string planned = said({"archive", "--source", "payments", "--dry-run", "-o", "id"});
  const std::string job = planned.substr(0, planned.find('\n'));
  EXPECT_NE(err_.str().find("archive at least 10000"), std::string::npos) << err_.str();
  EXPECT_NE(said({"job", "show", job}).find("left             at least 10000\n"),
            std::string::npos);
  EXPECT_NE(said({"job", "list"}).find(" 0/>=10000 "), std::string::npos);
  width_ = 120;
  said({"job", "start", job, "--wait"});
  const std::string bars = err_.str();
  width_ = 0;
  EXPECT_EQ(code_, exit_ok) << bars;
  EXPECT_NE(bars.find("100 %  10400/10400 "), std::string::npos) << bars;
  EXPECT_EQ(count_of(bars, "100 %"), count_of(bars, "100 %  10400/10400 ")) << bars;
  EXPECT_NE(said({"job", "list"}).find(" 10400/10400 "), std::string::npos);
  EXPECT_NE(said({"job", "show", job}).find("left             0\n"), std::string::npos);
}

TEST_F(Many, KeysMoveAboutTheBoardTickAndTurnPages) {
  fill(10, "payments");
  const std::string first = board({"x", "j"});
  EXPECT_NE(first.find("[1 dead letters]"), std::string::npos) << first;
  EXPECT_NE(first.find("ticked 1"), std::string::npos) << first;
  EXPECT_NE(first.find(" x"), std::string::npos) << first;
  EXPECT_NE(first.find("page 1 "), std::string::npos) << first;
  EXPECT_NE(board({"l", "l"}).find("page 3, the last"), std::string::npos);
  EXPECT_NE(board({"l", "l", "l", "h"}).find("page 2 "), std::string::npos);
  EXPECT_NE(board({"A", "l", "A"}).find("ticked 8"), std::string::npos);
  EXPECT_NE(board({"A", "A"}).find("ticked 0"), std::string::npos);
  EXPECT_NE(board({"\t"}).find("[2 groups]"), std::string::npos);
  EXPECT_NE(board({"3"}).find("[3 jobs]"), std::string::npos);
  const std::string up = board({"j", "j", "k", "k", "k"});
  EXPECT_LT(up.find(">"), up.find("00000000000000010000000000000001")) << up;
}

TEST_F(Many, TheBoardLooksOnlyWhereNoServerWorks) {
  fill(2, "payments");
  const std::string told = board({"x", "a"});
  EXPECT_NE(told.find("No server works here"), std::string::npos) << told;
  EXPECT_NE(board({"a"}).find("Nothing is ticked"), std::string::npos);
}

TEST_F(Many, TheBoardIsPrintedOnceWhereNobodySits) {
  fill(2, "payments");
  const std::string out = said({"top"});
  EXPECT_NE(out.find("GROUPS"), std::string::npos) << out;
  EXPECT_EQ(out.find("\x1b["), std::string::npos) << out;
}

}  // namespace
}  // namespace dlo::cli
