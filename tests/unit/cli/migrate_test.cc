// `dlo migrate` on offices of every older version of the schema.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/must.h"
#include "support/older_office.h"
#include "support/temporary_directory.h"

#include "dlo/cli/cli.h"
#include "dlo/cli/context.h"
#include "dlo/engine/clock.h"
#include "dlo/store/sqlite/sqlite_office.h"

namespace dlo::cli {
namespace {

using dlo::testing::must;
using dlo::testing::noon;
using dlo::testing::OlderOffice;
using dlo::testing::TemporaryDirectory;

class MigrateVerb : public ::testing::TestWithParam<std::size_t> {
 protected:
  void fill(const std::string& directory) {
    const auto office = must(SqliteOffice::open(directory, {}));
    std::vector<Change> changes;
    for (std::uint64_t n = 1; n <= 20; ++n) {
      auto message = std::make_shared<Message>();
      message->source = "payments";
      auto letter = std::make_shared<DeadLetter>();
      letter->id = RecordId{Id128{n, 1}};
      letter->message = message;
      letter->failure.text = "timed out";
      letter->died_at = noon;
      changes.emplace_back(Append{letter, {}});
    }
    must(office->apply(changes));
  }
  std::string said(std::vector<std::string> words) {
    words.insert(words.begin(), "dlo");
    words.insert(words.end(), {"--data", place_.path()});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out;
    err_.str("");
    const ManualClock clock(noon);
    Context context{out, err_, noon};
    context.clock = &clock;
    code_ = run(static_cast<int>(argv.size()), argv.data(), context);
    return out.str();
  }
  TemporaryDirectory now_;
  TemporaryDirectory place_;
  std::ostringstream err_;
  int code_ = 0;
};

TEST_P(MigrateVerb, BringsAnOfficeUpToDateOnceItIsMeant) {
  fill(now_.path());
  const OlderOffice old(now_.path(), place_.path(), GetParam());
  said({"migrate", "--dry-run"});
  EXPECT_EQ(code_, exit_partial);
  EXPECT_NE(err_.str().find("schema version " + std::to_string(GetParam())), std::string::npos)
      << err_.str();
  said({"list"});
  EXPECT_NE(code_, exit_ok) << "a dry run changes nothing, and who only looks does not migrate";

  const std::string done = said({"migrate"});
  EXPECT_EQ(code_, exit_ok) << err_.str();
  EXPECT_NE(done.find("has the format of this program now"), std::string::npos) << done;
  const std::string ids = said({"list", "-o", "id"});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), '\n'), 20) << err_.str();
  EXPECT_NE(said({"migrate"}).find("there is nothing to do"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Versions, MigrateVerb,
                         ::testing::Range(std::size_t{1}, sqlite::office_migrations().size()),
                         [](const auto& version) {
                           return "From" + std::to_string(version.param);
                         });

}  // namespace
}  // namespace dlo::cli
