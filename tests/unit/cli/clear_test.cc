// Everything that is open, discarded by whoever knows how much that is (S2-23).
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/must.h"
#include "support/temporary_directory.h"

#include "dlo/cli/cli.h"
#include "dlo/cli/context.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

using dlo::testing::must;
using dlo::testing::noon;

class Clear : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto office = must(SqliteOffice::open(place_.path(), {}));
    std::vector<Change> changes;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      auto message = std::make_shared<Message>();
      message->source = "w";
      auto letter = std::make_shared<DeadLetter>();
      letter->id = RecordId{Id128{i, 1}};
      letter->message = message;
      letter->died_at = noon;
      if (i == 4) letter->status = Status::archived;
      changes.emplace_back(Append{letter, {}});
    }
    must(office->apply(changes));
  }
  std::uint64_t count(Status status) {
    const auto office = must(SqliteOffice::open(place_.path(), {}));
    std::uint64_t all = 0;
    for (const Tally& each : must(office->aggregate({})).tallies) {
      all += each.status == status ? each.count : 0;
    }
    return all;
  }
  int clear(std::vector<std::string> words, const std::string& typed, bool asks = true) {
    words.insert(words.begin(), {"dlo", "retries", "clear"});
    words.insert(words.end(), {"--data", place_.path()});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    out_.str("");
    err_.str("");
    std::istringstream in(typed);
    Context context{out_, err_, noon};
    context.in = &in;
    context.asks = asks;
    context.pause = [](Millis) { std::this_thread::yield(); };
    return run(static_cast<int>(argv.size()), argv.data(), context);
  }

  dlo::testing::TemporaryDirectory place_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(Clear, HappensWhenTheNumberIsTyped) {
  EXPECT_EQ(clear({}, "3\n"), exit_ok) << err_.str();
  EXPECT_NE(err_.str().find("3 dead letters are open"), std::string::npos) << err_.str();
  EXPECT_NE(out_.str().find("Removed 3 dead letters"), std::string::npos) << out_.str();
  EXPECT_EQ(count(Status::pending), 0U);
  EXPECT_EQ(count(Status::archived), 1U) << "archived ones stay";
  EXPECT_EQ(clear({}, "0\n"), exit_nothing_matched);
}

TEST_F(Clear, DoesNotHappenForAYesOrAnotherNumber) {
  for (const char* typed : {"y\n", "yes\n", "4\n", "\n", ""}) {
    EXPECT_EQ(clear({}, typed), exit_usage) << typed;
    EXPECT_NE(err_.str().find("Nothing was changed"), std::string::npos) << err_.str();
  }
  EXPECT_EQ(clear({"--yes"}, "3\n"), exit_usage);
  EXPECT_NE(err_.str().find("--yes alone is not enough"), std::string::npos) << err_.str();
  EXPECT_EQ(clear({}, "3\n", false), exit_usage) << "nobody sits there";
  EXPECT_NE(err_.str().find("--count 3"), std::string::npos) << err_.str();
  EXPECT_EQ(count(Status::pending), 3U);
}

TEST_F(Clear, TakesTheNumberOnTheCommandLineIfItIsTrue) {
  EXPECT_EQ(clear({"--count", "4"}, "", false), exit_error);
  EXPECT_NE(err_.str().find("There are 3 dead letters, not 4"), std::string::npos) << err_.str();
  EXPECT_EQ(count(Status::pending), 3U);
  EXPECT_EQ(clear({"--count", "3", "-o", "json"}, "", false), exit_ok) << err_.str();
  EXPECT_NE(out_.str().find("\"ok\":3"), std::string::npos) << out_.str();
  EXPECT_EQ(count(Status::discarding), 3U);
}

}  // namespace
}  // namespace dlo::cli
