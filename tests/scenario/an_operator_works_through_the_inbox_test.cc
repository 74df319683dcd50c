#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "scenario/program.h"
#include "support/temporary_directory.h"

namespace dlo::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Somebody archives, restores, annotates and resolves, with a server and without one: the commands
// are the same, and so is what they say.
class Operator : public ::testing::TestWithParam<bool> {
 protected:
  Operator() {
    EXPECT_EQ(run_dlo({"demo", "--messages", "60", "--keep", "--data", place_.path()}).code, 0);
    if (GetParam()) {
      server_.emplace(
          std::vector<std::string>{"serve", "--data", place_.path(), "--listen", "127.0.0.1:0"});
      server_->read_until("/healthz");
    }
  }
  Ended dlo(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--data", place_.path()});
    return run_dlo(arguments, input);
  }
  std::string ids(const std::string& query) { return dlo({"list", query, "-o", "id"}).out; }

  TemporaryDirectory place_;
  std::optional<Running> server_;
};

TEST_P(Operator, ActsOnSomeByTheirIds) {
  const std::string open = ids("status:open type:poison");
  const std::string one = first_line(open);
  ASSERT_EQ(one.size(), 32U) << open;
  const Ended archived = dlo({"archive", "-", "--reason", "later"}, open);
  EXPECT_EQ(archived.code, 0) << archived.err;
  EXPECT_EQ(ids("status:archived"), open);
  EXPECT_EQ(dlo({"undo", one}).code, 0);
  EXPECT_EQ(ids("status:open type:poison"), one + "\n");
  EXPECT_EQ(dlo({"restore", one}).code, 1);  // it is open: nothing to take back
  EXPECT_EQ(dlo({"archive", one, std::string(32, '0')}).code, 3);
  EXPECT_EQ(dlo({"archive", std::string(32, '0')}).code, 4);

  EXPECT_EQ(dlo({"undo", one}).code, 0);
  const Ended unsure = dlo({"discard", one});
  EXPECT_EQ(unsure.code, 2);
  EXPECT_TRUE(has(unsure.err, "--yes")) << unsure.err;
  EXPECT_EQ(ids("status:open type:poison"), one + "\n");
  EXPECT_EQ(dlo({"discard", one, "--yes"}).code, 0);
  EXPECT_EQ(ids("status:open type:poison"), "");
}

TEST_P(Operator, WritesDownWhatIsKnown) {
  const std::string id = first_line(ids("status:open"));
  EXPECT_EQ(dlo({"note", id, "seen by größe & Co"}).code, 0);
  EXPECT_EQ(dlo({"tag", id, "vip", "slow"}).code, 0);
  EXPECT_EQ(dlo({"tag", id, "eu", "--remove", "slow"}).code, 0);
  EXPECT_EQ(ids("tag:vip tag:eu -tag:slow"), id + "\n");
  const Ended shown = dlo({"show", id});
  EXPECT_TRUE(has(shown.out, "seen by größe & Co") && has(shown.out, "vip, eu")) << shown.out;
  EXPECT_EQ(dlo({"resolve", id, "--by", "ana", "--notes", "new card"}).code, 0);
  const Ended again = dlo({"resolve", id, "--by", "bo"});
  EXPECT_EQ(again.code, 1);
  EXPECT_TRUE(has(again.err, "by \"ana\"") && has(again.err, "nothing was changed")) << again.err;
}

TEST_P(Operator, ResolvesAGroupAsAJobThatIsPlannedFirst) {
  const std::string group = first_line(dlo({"group", "list", "-o", "id"}).out);
  ASSERT_EQ(group.size(), 32U);
  EXPECT_EQ(dlo({"group", "assign", group, "ana"}).code, 0);
  EXPECT_EQ(dlo({"group", "note", group, "first"}).code, 0);
  const Ended unsure = dlo({"group", "resolve", group});
  EXPECT_EQ(unsure.code, 2) << unsure.err;
  EXPECT_TRUE(has(unsure.err, "Plan: resolve ") && has(unsure.err, "--yes")) << unsure.err;
  EXPECT_NE(ids("status:open group:" + group), "");
  const Ended resolved = dlo({"group", "resolve", group, "--notes", "fixed in 1.4", "--yes"});
  EXPECT_EQ(resolved.code, 0) << resolved.err;
  EXPECT_EQ(resolved.out.find("job "), 0U) << resolved.out;
  EXPECT_EQ(ids("status:open group:" + group), "");
  const Ended shown = dlo({"group", "show", group, "-o", "json"});
  EXPECT_TRUE(has(shown.out, R"("status":"resolved","owner":"ana")") &&
              has(shown.out, R"(first\nfixed in 1.4)"))
      << shown.out;
  EXPECT_TRUE(has(dlo({"job", "list"}).out, "done"));
}

TEST_P(Operator, StartsAPlanLater) {
  const Ended plan = dlo({"archive", "--where", "type:poison", "--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  const std::string job = first_line(plan.out).substr(4);
  EXPECT_TRUE(has(plan.err, "dlo job start " + job)) << plan.err;
  EXPECT_NE(ids("status:open type:poison"), "");
  const Ended done = dlo({"job", "start", job, "--wait"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(has(done.out, "is done: ok ")) << done.out;
  EXPECT_EQ(ids("status:open type:poison"), "");
  EXPECT_TRUE(has(dlo({"job", "items", job}).out, "  ok\n"));
  EXPECT_EQ(dlo({"job", "pause", job}).code, 1);  // it is over
  EXPECT_EQ(dlo({"job", "show", "nonsense"}).code, 4);
  EXPECT_EQ(dlo({"archive", "--where", "type:nothing", "--yes"}).code, 4);
  EXPECT_EQ(dlo({"archive"}).code, 2);
  EXPECT_EQ(dlo({"archive", "--where", "stauts:open"}).code, 2);
}

INSTANTIATE_TEST_SUITE_P(Scenario, Operator, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "OfAServer" : "Alone"; });

}  // namespace
}  // namespace dlo::testing
