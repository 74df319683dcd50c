// Tasks that wait for others (S2-54), in virtual time.

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/retries/dependency_room.h"

namespace dlo {
namespace {

using testing::must;
using testing::works;
using namespace std::chrono_literals;
using testing::Names;

class DependenciesTest : public testing::DependencyRoom {};

TEST_P(DependenciesTest, ATaskRunsAfterTheOneItWaitsFor) {
  report("a", {}, "exponential");
  const TaskAnswer b = report("b", {"a"});
  EXPECT_TRUE(b.stored);
  EXPECT_EQ(b.waits_for, Names{"a"});
  EXPECT_EQ(b.next_retry_at, std::nullopt);
  EXPECT_EQ(task("b").reason, "Waits");
  EXPECT_EQ(run(), Names{});
  clock.advance(1min);
  EXPECT_EQ(run(), (Names{"a", "b"})) << "at once when a has worked";
  EXPECT_EQ(task("b").status, Status::resolved);
  EXPECT_EQ(waits_->numbers().waiting, 0U);
}

TEST_P(DependenciesTest, ItsOwnDelayIsKeptToo) {
  report("a");
  report("b", {"a"}, "linear");
  EXPECT_EQ(run(), Names{"a"});
  EXPECT_EQ(task("b").next_retry_at, clock.now() + 5min);
  EXPECT_EQ(task("b").reason, task("b").category) << "it waits for its own moment only";
  EXPECT_EQ(must(office().aggregate({})).lifetime.manually_retried, 0U);
  clock.advance(5min);
  EXPECT_EQ(run(), Names{"b"});
}

TEST_P(DependenciesTest, AllOfThemHaveToSucceed) {
  report("a1");
  report("a2", {}, "linear");
  report("b", {"a1", "a2"});
  EXPECT_EQ(run(), Names{"a1"});
  clock.advance(5min);
  EXPECT_EQ(run(), (Names{"a2", "b"}));
}

TEST_P(DependenciesTest, OneThatSucceededBeforeIsNotWaitedFor) {
  report("a");
  run();
  EXPECT_EQ(report("b", {"a"}).waits_for, Names{});
  EXPECT_EQ(run(), Names{"b"});
}

TEST_P(DependenciesTest, OneThatSucceededAndWasPutAwayBeforeIsNotWaitedFor) {
  report("a");
  run();
  must(book().archive("a"));
  ASSERT_EQ(task("a").status, Status::archived);
  EXPECT_EQ(report("b", {"a"}).waits_for, Names{});
  EXPECT_EQ(run(), Names{"b"});
}

TEST_P(DependenciesTest, ATaskMayBeReportedBeforeTheOneItWaitsFor) {
  report("b", {"a"});
  clock.advance(23h);
  report("a", {}, "linear");
  EXPECT_EQ(run(), Names{});
  clock.advance(5min);
  EXPECT_EQ(run(), (Names{"a", "b"}));
}

TEST_P(DependenciesTest, ACycleIsRefusedWithItsWay) {
  report("a", {"c"});
  report("b", {"a"});
  const TaskAnswer c = report("c", {"x", "b"});
  EXPECT_FALSE(c.stored);
  EXPECT_EQ(c.refusal.value().code, "cycle");
  EXPECT_NE(c.reason.find(R"("c" waits for "b" waits for "a" waits for "c")"), std::string::npos)
      << c.reason;
  EXPECT_EQ(c.error, "busy");
  EXPECT_EQ(must(book().find("c")), std::nullopt);
  EXPECT_EQ(report("d", {"d"}).refusal.value().code, "cycle") << "itself";
  EXPECT_TRUE(report("c").stored) << "without b it is no circle";
}

TEST_P(DependenciesTest, WhenOneIsGivenUpThoseThatWaitForItAreReported) {
  report("a", {}, "never");
  report("b", {"a"});
  must(book().archive("a"));
  EXPECT_EQ(task("b").reason, "Blocked");
  EXPECT_EQ(task("b").status, Status::pending) << "open: somebody has to look at it";
  EXPECT_NE(task("b").description.find("\"a\""), std::string::npos) << task("b").description;
  EXPECT_EQ(task("b").next_retry_at, std::nullopt);
  EXPECT_EQ(waits_->numbers().blocked, 1U);
  clock.advance(48h);
  EXPECT_EQ(run(), Names{});
}

TEST_P(DependenciesTest, AnUnknownOneIsWaitedForADay) {
  report("b", {"a"});
  clock.advance(24h - 1ms);
  EXPECT_EQ(run(), Names{});
  EXPECT_EQ(task("b").reason, "Waits");
  clock.advance(1ms);
  EXPECT_EQ(run(), Names{});
  EXPECT_EQ(task("b").reason, "Blocked");
  EXPECT_EQ(task("b").status, Status::pending);
  EXPECT_EQ(task("b").counters.attempt, 1U) << "nothing was run";
  EXPECT_EQ(task("b").counters.fetch, 1U);
  EXPECT_NE(task("b").description.find("within 1d"), std::string::npos) << task("b").description;
  report("a");
  EXPECT_EQ(task("b").reason, "Waits") << "somebody reported it after all";
  EXPECT_EQ(run(), (Names{"a", "b"})) << "better late than never";
}

TEST_P(DependenciesTest, OneThatIsKnownIsWaitedForAsLongAsItTakes) {
  report("b", {"a"});
  report("a", {}, "never");
  clock.advance(24h);
  EXPECT_EQ(run(), Names{});
  EXPECT_EQ(task("b").reason, "Waits");
  EXPECT_EQ(task("b").next_retry_at, std::nullopt);
  must(book().retry("a"));
  EXPECT_EQ(run(), (Names{"a", "b"}));
}

TEST_P(DependenciesTest, ARetryByHandReleasesIt) {
  report("a", {}, "never");
  report("b", {"a"});
  report("c", {"z"});
  clock.advance(24h);
  run();
  EXPECT_EQ(task("c").reason, "Blocked");
  for (const char* each : {"b", "c"}) {
    must(book().retry(each));
    EXPECT_EQ(run(), Names{each});
    EXPECT_EQ(task(each).status, Status::resolved);
  }
  EXPECT_EQ(waits_->numbers().waiting + waits_->numbers().blocked, 0U);
  EXPECT_EQ(must(office().aggregate({})).lifetime.manually_retried, 2U);
}

TEST_P(DependenciesTest, WhatIsReleasedByHandIsNoLongerSaidToWait) {
  bool well = false;
  on("llamaindex", [&](const Message& task, const RunContext&) {
    ran_.push_back(task.id);
    return well ? works() : testing::fails("busy");
  });
  report("a", {}, "never");
  report("b", {"a"}, "linear");
  report("c", {"z"}, "linear");
  clock.advance(24h);
  run();
  EXPECT_EQ(task("b").reason, "Waits");
  EXPECT_EQ(task("c").reason, "Blocked");
  for (const char* each : {"b", "c"}) {
    const Names named{each == std::string("b") ? "a" : "z"};
    EXPECT_EQ(report(each, named, "linear").waits_for, named);
    must(book().retry(each));
    EXPECT_EQ(report(each, named, "linear").waits_for, Names{}) << "released, though not run yet";
    EXPECT_EQ(run(), Names{each});
    const DeadLetter failed = task(each);
    EXPECT_EQ(failed.reason, failed.category);
    EXPECT_EQ(failed.description, "a retry is owed");
    const TaskAnswer repeat = report(each, named, "linear");
    EXPECT_EQ(repeat.waits_for, Names{});
    EXPECT_EQ(repeat.next_retry_at, failed.next_retry_at);
    EXPECT_TRUE(repeat.next_retry_at);
  }
  well = true;
  report("d", {"a"});
  must(book().retry("d"));
  EXPECT_EQ(run(), Names{"d"});
  EXPECT_EQ(task("d").status, Status::resolved);
  EXPECT_EQ(task("d").reason, task("d").category);
  EXPECT_EQ(task("d").description, "");
}

TEST_P(DependenciesTest, OneThatIsArchivedItselfWaitsNoLonger) {
  report("a", {}, "linear");
  report("b", {"a"});
  report("c", {"b"});
  must(book().archive("b"));
  EXPECT_EQ(task("c").reason, "Blocked");
  clock.advance(5min);
  EXPECT_EQ(run(), Names{"a"});
  EXPECT_EQ(task("b").status, Status::archived);
}

TEST_P(DependenciesTest, OneThatIsRestoredWaitsAgain) {  // I7: not for ever
  report("a", {}, "never");
  report("b", {"a"});
  must(book().archive("b"));
  ASSERT_EQ(waits_->numbers().waiting, 0U);
  restore("b");
  EXPECT_EQ(task("b").reason, "Waits");
  EXPECT_EQ(waits_->numbers().waiting, 1U);
  if (GetParam() == std::string("sqlite")) kill_and_start();
  EXPECT_EQ(run(), Names{});
  must(book().retry("a"));
  EXPECT_EQ(run(), (Names{"a", "b"}));
}

TEST_P(DependenciesTest, OneThatIsRestoredBlocksNobodyAnyMore) {
  report("a", {}, "never");
  report("b", {"a"});
  must(book().archive("a"));
  ASSERT_EQ(task("b").reason, "Blocked");
  restore("a");
  EXPECT_EQ(task("b").reason, "Waits");
  EXPECT_EQ(task("b").description, "It waits for \"a\".");
  EXPECT_EQ(waits_->numbers().blocked, 0U);
  EXPECT_EQ(run(), Names{});
  must(book().retry("a"));
  EXPECT_EQ(run(), (Names{"a", "b"}));
}

TEST_P(DependenciesTest, AReportThatIsRepeatedWaitsOnce) {
  report("a", {}, "linear");
  report("b", {"a"});
  EXPECT_EQ(report("b", {"a"}).waits_for, Names{"a"});
  EXPECT_EQ(waits_->numbers().waiting, 1U);
  clock.advance(5min);
  EXPECT_EQ(run(), (Names{"a", "b"}));
}

TEST_P(DependenciesTest, ARepeatThatNamesOthersIsToldForWhomItWaits) {
  report("a", {}, "linear");
  report("x", {}, "linear");
  report("b", {"a"});
  const TaskAnswer others = report("b", {"x"});
  EXPECT_TRUE(others.stored);
  EXPECT_EQ(others.waits_for, Names{"a"}) << "as it was handed over first";
  EXPECT_NE(others.reason.find("\"a\""), std::string::npos) << others.reason;
  report("c", {}, "linear");
  const TaskAnswer late = report("c", {"x"});
  EXPECT_TRUE(late.waits_for.empty());
  EXPECT_EQ(late.next_retry_at, clock.now() + 5min);
  EXPECT_NE(late.reason.find("waits for nobody"), std::string::npos) << late.reason;
  kill_and_start();
  EXPECT_EQ(waits_->numbers().waiting, 1U);
  clock.advance(5min);
  EXPECT_EQ(run().back(), "b");
}

TEST_P(DependenciesTest, WhatIsNotWrittenWaitsForNothing) {
  writes_left_ = 0;
  EXPECT_EQ(report("b", {"a"}).refusal.value().code, "unavailable");
  writes_left_.reset();
  EXPECT_EQ(waits_->numbers().waiting, 0U);
  EXPECT_TRUE(report("a", {"b"}).stored) << "no circle with what is not there";
}

TEST_P(DependenciesTest, ARestartForgetsNobodyWhoWaits) {
  report("a", {}, "linear");
  report("b", {"a"});
  report("c", {"z"});
  kill_and_start();
  EXPECT_EQ(waits_->numbers().waiting, 2U);
  clock.advance(5min);
  EXPECT_EQ(run(), (Names{"a", "b"}));
  clock.advance(24h - 5min);
  EXPECT_EQ(run(), Names{});
  EXPECT_EQ(task("c").reason, "Blocked") << "the time runs from the report, not from the start";
}

TEST_P(DependenciesTest, AKillBetweenTheTwoWritesLosesNobody) {
  report("a");
  report("b", {"a"});
  // A is marked, run and resolved; the write that would have freed B never happens.
  Transition done;
  done.id = task("a").id;
  done.to = Status::resolved;
  done.now = clock.now();
  const Change change = done;
  must(office().apply({&change, 1}));
  EXPECT_EQ(run(), Names{});
  kill_and_start();
  EXPECT_EQ(run(), Names{"b"});
}

TEST_P(DependenciesTest, AVerdictThatCannotBeWrittenIsWrittenLater) {
  report("a", {}, "never");
  report("b", {"a"});
  writes_left_ = 1;  // A's end is written, B's release is not
  must(book().archive("a"));
  EXPECT_EQ(task("b").reason, "Waits");
  writes_left_.reset();
  EXPECT_TRUE(report("c").stored);
  EXPECT_EQ(task("b").reason, "Blocked") << "as soon as the office writes again";
}

TEST_P(DependenciesTest, WhereTheOfficeDoesNotRetryNothingWaits) {
  TaskReport report;
  auto task = std::make_shared<Message>();
  task->source = "orders";
  report.report.message = std::move(task);
  report.report.failure.text = "boom";
  report.depends_on = {"a"};
  const TaskAnswer answer = desk_->report(report);
  EXPECT_EQ(answer.refusal.value().code, "invalid_argument");
  EXPECT_NE(answer.reason.find("standard"), std::string::npos) << answer.reason;
}

INSTANTIATE_TEST_SUITE_P(Offices, DependenciesTest, ::testing::Values("memory", "sqlite"),
                         [](const auto& made) { return std::string(made.param); });

}  // namespace
}  // namespace dlo
