#include <filesystem>
#include <fstream>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

// Somebody mistypes a directory, or it is not what it should be: a sentence and an exit code, never
// a crash, and never another reason than the true one.
TEST(Scenario, ABadPlaceIsRefusedWithASentence) {
  const TemporaryDirectory place;
  std::filesystem::create_symlink("round", place.path() + "/round");
  const std::string not_a_database = place.path() + "/text";
  std::filesystem::create_directory(not_a_database);
  std::ofstream(not_a_database + "/office.db") << "This is no database, but a letter to one.";
  const std::string endless = place.path() + "/" + std::string(5'000, 'x');
  const std::string id(32, 'a');
  for (const std::string& bad : {place.path() + "/round", endless, not_a_database}) {
    for (const std::vector<std::string>& verb :
         {std::vector<std::string>{"list"}, {"stats"}, {"resolve", id, "--yes"}}) {
      std::vector<std::string> command = verb;
      command.insert(command.end(), {"--data", bad});
      const Ended ended = run_dlo(command);
      EXPECT_GT(ended.code, 0) << verb.front() << " " << bad.substr(0, 60);
      EXPECT_LT(ended.code, 64) << verb.front() << " " << bad.substr(0, 60) << ended.err;
      EXPECT_NE(ended.err, "");
    }
  }
  const Ended resolved = run_dlo({"resolve", id, "--yes", "--data", not_a_database});
  EXPECT_EQ(resolved.err.find("There is no office"), std::string::npos) << resolved.err;
}

TEST(Scenario, AnEmptyOfficeFileIsCalledThat) {
  const TemporaryDirectory place;
  std::ofstream(place.path() + "/office.db").flush();
  const Ended looked = run_dlo({"list", "--data", place.path()});
  EXPECT_EQ(looked.code, 1) << looked.out;
  EXPECT_NE(looked.err.find("empty file"), std::string::npos) << looked.err;
  EXPECT_EQ(looked.err.find("schema version"), std::string::npos) << looked.err;
  EXPECT_EQ(std::filesystem::file_size(place.path() + "/office.db"), 0U);
}

// A new office over the remains of another would look like one in which nothing ever died.
TEST(Scenario, ALostOfficeIsNotBegunAnewInSilence) {
  const TemporaryDirectory place;
  ASSERT_EQ(run_dlo({"demo", "--messages", "14", "--keep", "--data", place.path()}).code, 0);
  const std::string office = place.path() + "/office.db";
  std::filesystem::resize_file(office, 0);
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"serve", "--listen", "127.0.0.1:0"},
        {"demo", "--keep"},
        {"list"}}) {
    std::vector<std::string> command = verb;
    command.insert(command.end(), {"--data", place.path()});
    const Ended ended = run_dlo(command);
    EXPECT_EQ(ended.code, 1) << verb.front() << ended.out;
    EXPECT_NE(ended.err.find("payloads.db"), std::string::npos) << verb.front() << ended.err;
    EXPECT_NE(ended.err.find("backup"), std::string::npos) << verb.front() << ended.err;
  }
  EXPECT_EQ(std::filesystem::file_size(office), 0U);
}

}  // namespace
}  // namespace dlo::testing
