#include "dlo/cli/retry_settings.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace dlo::cli {
namespace {

/// A configuration with one HTTP executor that signs with what `secrets` says.
class ASigningExecutor : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "dlo_secret_").string() +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<api::RetrySettings> with(const std::string& secrets) {
    std::ofstream(path_) << secrets;
    return from(path_);
  }
  static Result<api::RetrySettings> from(const std::string& file) {
    Config config;
    ExecutorSettings executor{"llamaindex", "http", "http://localhost:9/run"};
    executor.secret_file = file;
    config.executors.push_back(executor);
    return retry_settings(config);
  }
  std::string path_;
};

TEST(ExecutorProblems, NameEveryCommandThatCannotBeRun) {
  Config config;
  config.executors.push_back({"good", "command", "/bin/true --fast"});
  config.executors.push_back({"gone", "command", "/nowhere/mailer"});
  config.executors.push_back({"plain", "command", "/etc/passwd"});
  config.executors.push_back({"other", "queue", "orders"});
  config.sections["executors.plain"] = 7;
  const auto problems = executor_problems(config);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_NE(problems[0].text.find("executors.gone: the command /nowhere/mailer was not found"),
            std::string::npos)
      << problems[0].text;
  EXPECT_EQ(problems[1].line, 7U);
  EXPECT_NE(problems[1].text.find("executors.plain"), std::string::npos) << problems[1].text;
}

TEST_F(ASigningExecutor, TakesEachLineOfItsFileAsASecret) {
  EXPECT_TRUE(with("0123456789abcdef-new\n0123456789abcdef-old\r\n\n"));
}

TEST_F(ASigningExecutor, WithoutItsFileIsRefusedByNameAndPath) {
  const auto made = from("/nowhere/tasks.secret");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().detail.find("executors.llamaindex"), std::string::npos);
  EXPECT_NE(made.error().detail.find("/nowhere/tasks.secret"), std::string::npos);
}

TEST_F(ASigningExecutor, WithAnEmptyFileDoesNotGoOnUnsigned) {
  EXPECT_FALSE(with("\n\n"));
}

TEST_F(ASigningExecutor, WithAWeakSecretIsRefusedWithoutRepeatingIt) {
  const auto made = with("hunter2\n");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail.find("hunter2"), std::string::npos) << made.error().detail;
}

}  // namespace
}  // namespace dlo::cli
