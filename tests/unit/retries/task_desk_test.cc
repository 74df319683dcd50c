// The calls of document 002 as a library has them.

#include "dlo/retries/task_desk.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/retries/retry_room.h"

#include "dlo/retries/task_book.h"

namespace dlo {
namespace {

using testing::fails;
using testing::must;
using testing::works;
using namespace std::chrono_literals;

class TaskDeskTest : public testing::RetryRoom {
 protected:
  TaskDesk& desk() {
    if (!desk_) desk_ = std::make_unique<TaskDesk>(TaskDesk::Parts{office(), clock, {}, rules_});
    return *desk_;
  }
  TaskBook book() { return {office(), clock}; }

  static TaskReport failed(const std::string& task_id, const std::string& error) {
    auto task = std::make_shared<Message>();
    task->id = task_id;
    task->source = "workflows";
    task->payload = R"({"type":"code_sweep"})";
    TaskReport report;
    report.report.message = std::move(task);
    report.report.failure.text = error;
    report.profile = "workflow";
    return report;
  }
  TaskAnswer hand_over(const std::string& task_id, const std::string& error) {
    return desk().report(failed(task_id, error));
  }

  ProfileBook rules_;

 private:
  std::unique_ptr<TaskDesk> desk_;
};

TEST_P(TaskDeskTest, AFailedTaskIsKeptAndSaysSo) {  // S2-16
  const TaskAnswer answer = hand_over("wf_abc123", "Connection timeout");
  EXPECT_EQ(answer.status, "failed");
  EXPECT_TRUE(answer.dlq_enqueued);
  EXPECT_EQ(answer.dlq_task_id, "wf_abc123");
  EXPECT_TRUE(answer.stored);
  EXPECT_EQ(answer.error, "Connection timeout");
  EXPECT_EQ(answer.policy, "exponential base=1m factor=2 cap=1h");
  EXPECT_EQ(answer.next_retry_at, clock.now() + 1min);
  EXPECT_EQ(status(answer.id.value()), Status::pending);
}

TEST_P(TaskDeskTest, ATaskBringsEverythingItsRetryNeeds) {  // S2-18
  TaskReport report = failed("", "who knows");
  report.asked = ask("linear", 7);
  report.category = "network";
  report.report.metadata = R"({"slos":{"max_delay_minutes":15}})";
  const TaskAnswer answer = desk().report(report);
  EXPECT_TRUE(answer.dlq_task_id.starts_with("wf_")) << answer.dlq_task_id;
  const DeadLetter kept = record(answer.id.value());
  EXPECT_EQ(kept.category, "network");
  EXPECT_EQ(kept.policy, "linear base=5m");
  EXPECT_EQ(kept.limit, 7U);
  EXPECT_EQ(kept.metadata, report.report.metadata);
  EXPECT_EQ(kept.next_retry_at, clock.now() + 5min);
  EXPECT_EQ(request_of(kept.message->headers), report.asked) << "later failures go by it as well";
}

TEST_P(TaskDeskTest, ACategoryThatNobodyKnowsIsNeverRetried) {  // S2-8
  TaskReport report = failed("t", "rate limit");
  report.category = "banana";
  const TaskAnswer answer = desk().report(report);
  EXPECT_TRUE(answer.stored);
  EXPECT_EQ(answer.next_retry_at, std::nullopt) << answer.policy;
  EXPECT_EQ(record(answer.id.value()).category, "banana");
  report = failed("u", "rate limit");
  report.category = "banana";
  report.asked = ask("immediate", 2);
  EXPECT_EQ(desk().report(report).next_retry_at, clock.now()) << "who names a policy means it";
}

TEST_P(TaskDeskTest, WhatIsNotKeptComesBackWithTheReasonAndTheError) {  // S2-9, S2-10, S2-27
  Profile full = must(find_profile("workflow"));
  full.capacity.records = 1;
  full.strategy = Strategy::selective;
  rules_.set(full);
  const TaskAnswer skipped = hand_over("a", "access denied");
  EXPECT_FALSE(skipped.stored || skipped.dlq_enqueued || skipped.refusal);
  EXPECT_NE(skipped.reason.find("selective"), std::string::npos) << skipped.reason;
  EXPECT_EQ(skipped.error, "access denied");
  EXPECT_TRUE(hand_over("b", "busy").stored);
  const TaskAnswer refused = hand_over("c", "busy");
  EXPECT_FALSE(refused.stored);
  EXPECT_EQ(refused.refusal.value().code, "full");
  EXPECT_EQ(refused.error, "busy");
  TaskDesk closed({office(), clock, {}, {}, {}, {}, false});
  const TaskAnswer disabled = closed.report(failed("d", "busy"));
  EXPECT_EQ(disabled.refusal.value().code, "dlq_disabled");
  EXPECT_EQ(disabled.error, "busy");
}

TEST_P(TaskDeskTest, ARepeatIsToldWhatIsKeptAndNotWhatItAsksFor) {  // S2-16, R2-6
  TaskReport first = failed("t", "Connection timeout");
  first.asked = ask("linear", 5);
  const auto id = desk().report(first).id;
  clock.advance(1min);
  TaskReport second = failed("t", "access denied");
  second.asked = ask("immediate", 1);
  std::vector<TaskAnswer> answers = desk().report_all({second});
  answers.push_back(desk().report(second));
  int written = 0;
  answers.push_back(desk().report(second, [&](const TaskAnswer& told, std::vector<Change>&) {
    ++written;
    EXPECT_EQ(told.policy, "linear base=5m") << "what is written with it says the same";
  }));
  EXPECT_EQ(written, 1);
  for (const TaskAnswer& answer : answers) {
    EXPECT_TRUE(answer.stored && answer.dlq_enqueued && answer.durable);
    EXPECT_EQ(answer.id, id);
    EXPECT_EQ(answer.reported.value().effect, Effect::merged);
    EXPECT_EQ(answer.policy, "linear base=5m");
    EXPECT_EQ(answer.next_retry_at, clock.now() + 4min);
    EXPECT_EQ(answer.error, "access denied") << "the caller's own";
    ASSERT_NE(answer.kept, nullptr);
    EXPECT_EQ(answer.kept->limit, 5U);
    EXPECT_EQ(answer.kept->category, "network");
  }
}

TEST_P(TaskDeskTest, ARepeatOfATaskThatIsKeptNeedsNoRoom) {  // S2-10
  Profile full = must(find_profile("workflow"));
  full.capacity.records = 1;
  rules_.set(full);
  EXPECT_TRUE(hand_over("a", "busy").stored);
  EXPECT_EQ(hand_over("b", "busy").refusal.value().code, "full");
  const TaskAnswer again = hand_over("a", "busy");
  EXPECT_TRUE(again.stored) << again.reason;
  EXPECT_EQ(again.dlq_task_id, "a");
  const auto answers = desk().report_all({failed("a", "busy"), failed("c", "busy")});
  EXPECT_TRUE(answers[0].stored) << answers[0].reason;
  EXPECT_EQ(answers[1].refusal.value().code, "full");
  EXPECT_EQ(desk().intake().counts()["refused_full"], 2U);
}

TEST_P(TaskDeskTest, ReportsOfManyKindsAreAnsweredOneByOne) {
  TaskReport odd = failed("b", "busy");
  odd.profile = "wurkflow";
  TaskReport slow = failed("c", "busy");
  slow.asked = ask("linear", 1);
  const auto answers = desk().report_all({failed("a", "busy"), odd, slow, failed("d", "busy")});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].dlq_task_id, "a");
  EXPECT_EQ(answers[1].refusal.value().code, "not_found");
  EXPECT_EQ(answers[2].policy, "linear base=5m");
  EXPECT_EQ(answers[3].dlq_task_id, "d");
}

TEST_P(TaskDeskTest, AHundredAreListedUnlessOneAsksForMore) {  // S2-19
  std::vector<TaskReport> reports;
  for (int i = 0; i < 120; ++i) reports.push_back(failed("t" + std::to_string(i), "busy"));
  reports.push_back(failed("last", "busy"));
  reports.back().asked = ask("exponential", 0);
  must(Result<std::size_t>(desk().report_all(std::move(reports)).size()));
  EXPECT_EQ(must(book().list()).size(), 100U);
  EXPECT_EQ(must(book().list(std::nullopt, 500)).size(), 121U);
  const auto exhausted = must(book().list(Status::exhausted));
  ASSERT_EQ(exhausted.size(), 1U);
  EXPECT_EQ(exhausted[0].message->id, "last");
}

TEST_P(TaskDeskTest, ATaskIsFoundByItsIdAndAnAbsentOneIsNothing) {  // S2-20
  hand_over("t1", "busy");
  const auto found = must(book().find("t1"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first_failed_at, clock.now());
  EXPECT_EQ(found->counters.retry, 0U);
  EXPECT_EQ(found->limit, 3U);
  EXPECT_EQ(found->next_retry_at, clock.now() + 1min);
  EXPECT_EQ(must(book().find("t2")), std::nullopt);
  EXPECT_EQ(must(book().find("")), std::nullopt);
}

TEST_P(TaskDeskTest, ATaskRetriedByHandRunsNowAndItsOutcomeIsSeen) {  // S2-21, R2-5
  bool well = false;
  on("llamaindex",
     [&](const Message&, const RunContext&) { return well ? works() : fails("still busy"); });
  hand_over("t1", "access denied");
  must(book().retry("t1"));
  processor().drain();
  EXPECT_EQ(must(book().find("t1"))->failure.text, "still busy");
  EXPECT_EQ(must(book().find("t1"))->counters.retry, 1U) << "the count goes on";
  well = true;
  must(book().retry("t1"));
  processor().drain();
  EXPECT_EQ(must(book().find("t1"))->status, Status::resolved);
  EXPECT_EQ(book().retry("t1").error().code, Code::conflict);
  EXPECT_EQ(book().retry("t2").error().code, Code::not_found);
}

TEST_P(TaskDeskTest, AnArchivedTaskLeavesTheActiveQueue) {  // S2-22
  hand_over("t1", "busy");
  hand_over("t2", "busy");
  must(book().archive("t1"));
  const auto open = must(book().list());
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].message->id, "t2");
  EXPECT_EQ(must(book().find("t1"))->status, Status::archived) << "and is still there";
  EXPECT_EQ(book().archive("t1").error().code, Code::conflict);
  const auto trail = must(office().extras().ledger->audit(0, 100));
  EXPECT_EQ(trail.back().act.act, "archive");
  EXPECT_NE(trail.back().act.detail.find(R"("to":"archived")"), std::string::npos)
      << trail.back().act.detail;
}

TEST_P(TaskDeskTest, ClearRemovesWhatIsOpenOnceItsNumberIsNamed) {  // S2-23, R2-6
  std::vector<TaskReport> reports;
  for (int i = 0; i < 450; ++i) reports.push_back(failed("t" + std::to_string(i), "busy"));
  must(Result<std::size_t>(desk().report_all(std::move(reports)).size()));
  must(book().archive("t7"));
  const auto refused = book().clear(450);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().detail.find("449"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(must(book().list(std::nullopt, 500)).size(), 449U);
  EXPECT_EQ(must(book().clear(449)), 449U);
  EXPECT_TRUE(must(book().list()).empty());
  const auto trail = must(office().extras().ledger->audit(0, 1'000));
  EXPECT_NE(trail.back().act.detail.find(R"("count":49,"ids_sha256")"), std::string::npos)
      << trail.back().act.detail;
  EXPECT_EQ(must(book().find("t8")), std::nullopt);
  EXPECT_EQ(must(book().find("t7"))->status, Status::archived) << "archived ones stay";
}

INSTANTIATE_TEST_SUITE_P(Offices, TaskDeskTest, ::testing::Values("memory", "sqlite"),
                         [](const auto& made) { return std::string(made.param); });

}  // namespace
}  // namespace dlo
