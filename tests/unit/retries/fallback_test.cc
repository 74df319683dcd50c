// Reports while the office cannot be written: kept in memory, or refused (S2-2, R2-10).

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/retries/retry_room.h"

#include "dlo/retries/task_book.h"
#include "dlo/retries/task_desk.h"
#include "dlo/store/passing_office.h"

namespace dlo {
namespace {

using testing::must;
using namespace std::chrono_literals;

/// An office that cannot write, or do anything at all, while it is told so.
class BrokenOffice final : public PassingOffice {
 public:
  using PassingOffice::PassingOffice;
  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    if (after_writing) (void)PassingOffice::apply(changes);
    if (fault) return Error{*fault, "disk", "no luck with the disk"};
    return PassingOffice::apply(changes);
  }
  Result<Aggregate> aggregate(const AggregateRequest& request) override {
    if (fault && reads_too) return Error{*fault, "disk", "no luck with the disk"};
    return PassingOffice::aggregate(request);
  }

  std::optional<Code> fault;
  bool reads_too = false;
  bool after_writing = false;  // the answer is lost, not the change
};

class FallbackTest : public testing::RetryRoom {
 protected:
  void SetUp() override { begin(); }
  void begin() {
    desk_.reset();
    broken_ = std::make_unique<BrokenOffice>(office());
    TaskDesk::Parts parts{*broken_, clock};
    parts.rules = rules_;
    parts.log = [this](const std::string& line) { log_.push_back(line); };
    desk_ = std::make_unique<TaskDesk>(std::move(parts));
  }
  void with_room_for(std::uint64_t records) {
    Profile small = must(find_profile("workflow"));
    small.capacity.records = records;
    rules_.set(small);
    desk_->use(rules_);
  }

  static TaskReport failed(const std::string& task_id, const std::string& under = "workflow") {
    auto task = std::make_shared<Message>();
    task->id = task_id;
    task->source = "workflows";
    task->payload = R"({"type":"code_sweep"})";
    TaskReport report;
    report.report.message = std::move(task);
    report.report.failure.text = "busy";
    report.profile = under;
    return report;
  }
  TaskAnswer report(const std::string& task_id, const std::string& under = "workflow") {
    return desk_->report(failed(task_id, under));
  }
  std::uint64_t kept() { return open_dead_letters(must(office().aggregate({}))); }
  std::uint64_t counted(const std::string& name) { return desk_->intake().counts()[name]; }
  FallbackShelf& shelf() { return desk_->shelf(); }

  ProfileBook rules_;
  std::unique_ptr<BrokenOffice> broken_;
  std::unique_ptr<TaskDesk> desk_;
  std::vector<std::string> log_;
};

TEST_P(FallbackTest, WhatTheOfficeCannotTakeWaitsInMemoryAndIsThereOnceAfterwards) {
  broken_->fault = Code::unavailable;
  const TaskAnswer answer = report("t1");
  EXPECT_TRUE(answer.stored && answer.dlq_enqueued);
  EXPECT_FALSE(answer.durable);
  EXPECT_EQ(answer.refusal.has_value(), false);
  EXPECT_EQ(answer.dlq_task_id, "t1");
  EXPECT_EQ(answer.next_retry_at, clock.now() + 1min);
  EXPECT_EQ(answer.error, "busy");
  EXPECT_EQ(kept(), 0U);
  EXPECT_EQ(shelf().size(), 1U);
  EXPECT_TRUE(shelf().settle()) << "it is still down";
  clock.advance(20s);
  broken_->fault.reset();
  EXPECT_FALSE(shelf().settle());
  EXPECT_FALSE(shelf().settle());
  EXPECT_EQ(kept(), 1U);
  EXPECT_EQ(shelf().size(), 0U);
  const DeadLetter there = record(answer.id.value());
  EXPECT_EQ(there.next_retry_at, answer.next_retry_at) << "as it was promised";
  EXPECT_EQ(there.first_failed_at, clock.now() - 20s) << "when it was reported";
  EXPECT_EQ(counted("in_memory"), 1U);
  EXPECT_EQ(shelf().persisted_later(), 1U);
  EXPECT_EQ(counted("persisted"), 0U);
  EXPECT_TRUE(report("t2").durable);
  EXPECT_EQ(counted("persisted"), 1U);
}

TEST_P(FallbackTest, ATaskReportedTwiceWhileTheOfficeIsDownIsOneRecord) {
  broken_->fault = Code::timed_out;
  const TaskAnswer first = report("t1");
  clock.advance(1s);
  const TaskAnswer again = report("t1");
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(again.reported.value().effect, Effect::merged);
  EXPECT_EQ(shelf().size(), 1U);
  EXPECT_EQ(counted("in_memory"), 1U);
  broken_->fault.reset();
  EXPECT_FALSE(shelf().settle());
  EXPECT_EQ(kept(), 1U);
}

TEST_P(FallbackTest, AnAnswerThatWasLostOnTheWayDoublesNothing) {
  broken_->fault = Code::timed_out;
  broken_->after_writing = true;  // it did happen
  const TaskAnswer answer = report("t1");
  EXPECT_FALSE(answer.durable);
  EXPECT_EQ(kept(), 1U);
  broken_->fault.reset();
  broken_->after_writing = false;
  EXPECT_FALSE(shelf().settle());
  EXPECT_EQ(kept(), 1U);
  EXPECT_EQ(record(answer.id.value()).occurrence, 1U);
}

TEST_P(FallbackTest, WhatComesLaterWaitsBehindWhatCameBefore) {
  broken_->fault = Code::unavailable;
  report("t1");
  report("t2");
  broken_->fault.reset();
  const TaskAnswer third = report("t3");
  EXPECT_TRUE(third.durable) << "those before it were written first";
  EXPECT_EQ(shelf().size(), 0U);
  const auto listed = must(TaskBook(office(), clock).list());
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed[0].message->id, "t3") << "the newest";
  EXPECT_EQ(listed[1].message->id, "t2");
  EXPECT_EQ(listed[2].message->id, "t1");
}

TEST_P(FallbackTest, AShelfThatIsFullRejects) {  // S2-10
  with_room_for(3);
  EXPECT_TRUE(report("in the office").durable);
  broken_->fault = Code::unavailable;
  EXPECT_TRUE(report("t1").stored);
  EXPECT_TRUE(report("t2").stored);
  const TaskAnswer refused = report("t3");
  EXPECT_FALSE(refused.stored);
  EXPECT_EQ(refused.refusal.value().code, "full") << "that is what stands in its way";
  EXPECT_EQ(refused.error, "busy");
  EXPECT_EQ(counted("refused_full"), 1U);
  EXPECT_EQ(counted("rejected"), 0U);
  broken_->reads_too = true;
  EXPECT_FALSE(report("t4").stored) << "it remembers how many there were";
  broken_->fault.reset();
  EXPECT_EQ(report("t5").refusal.value().code, "full") << "and they still count";
  EXPECT_EQ(kept(), 3U);
}

TEST_P(FallbackTest, AnOfficeThatCannotEvenBeReadIsNoObstacle) {
  broken_->fault = Code::unavailable;
  broken_->reads_too = true;
  const auto answers = desk_->report_all({failed("t1"), failed("t2"), failed("t1")});
  for (const TaskAnswer& answer : answers) EXPECT_TRUE(answer.stored && !answer.durable);
  EXPECT_EQ(shelf().size(), 2U);
  broken_->fault.reset();
  EXPECT_FALSE(shelf().settle());
  EXPECT_EQ(kept(), 2U);
}

TEST_P(FallbackTest, TheSafeProfileRejectsAndLeavesNoPhantom) {
  broken_->fault = Code::unavailable;
  const TaskAnswer refused = report("t1", "workflow+safe");
  EXPECT_FALSE(refused.stored);
  EXPECT_EQ(refused.refusal.value().code, "unavailable");
  EXPECT_EQ(refused.error, "busy");
  EXPECT_EQ(shelf().size(), 0U);
  EXPECT_EQ(counted("rejected"), 1U);
  broken_->fault.reset();
  EXPECT_FALSE(shelf().settle());
  EXPECT_EQ(kept(), 0U);
}

TEST_P(FallbackTest, AFullDiskIsAnotherReasonThanAFullOffice) {  // issue 5, R20
  broken_->fault = Code::disk_full;
  const TaskAnswer refused = report("t1", "workflow+safe");
  EXPECT_FALSE(refused.stored);
  EXPECT_EQ(refused.refusal.value().code, "disk_full");
  EXPECT_EQ(refused.refusal.value().error.code, Code::disk_full);
  EXPECT_NE(refused.reason.find("no luck with the disk"), std::string::npos) << refused.reason;
  EXPECT_EQ(refused.error, "busy");
  EXPECT_EQ(counted("rejected"), 1U);
  EXPECT_TRUE(report("t2").stored) << "in memory";
  const auto batch = desk_->report_all({failed("t3", "workflow+safe"), failed("t4")});
  EXPECT_EQ(batch[0].refusal.value().code, "disk_full");
  EXPECT_TRUE(batch[1].stored);
}

TEST_P(FallbackTest, WhatTheOfficeRefusesForGoodIsRefused) {
  broken_->fault = Code::corrupt;
  EXPECT_EQ(report("t1").refusal.value().code, "corrupt");
  EXPECT_EQ(shelf().size(), 0U);
}

TEST_P(FallbackTest, WhoMustWaitForOthersIsNotKeptInMemory) {  // whether it is a cycle is not known
  broken_->fault = Code::unavailable;
  broken_->reads_too = true;
  TaskReport waiting = failed("t1");
  waiting.depends_on = {"t0"};
  EXPECT_TRUE(desk_->report(waiting).refusal);
  EXPECT_EQ(shelf().size(), 0U);
}

TEST_P(FallbackTest, WhatIsLeftAtTheEndIsNamedInTheLog) {
  broken_->fault = Code::unavailable;
  report("t1");
  report("t2");
  shelf().close();
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_NE(log_[0].find("Task \"t1\" of \"workflows\""), std::string::npos) << log_[0];
  EXPECT_NE(log_[0].find("no luck with the disk"), std::string::npos) << log_[0];
  EXPECT_NE(log_[1].find("\"t2\""), std::string::npos) << log_[1];
  shelf().close();
  EXPECT_EQ(log_.size(), 2U) << "once";
}

TEST_P(FallbackTest, TheLastTryIsMadeWhenItEnds) {
  broken_->fault = Code::unavailable;
  report("t1");
  broken_->fault.reset();
  shelf().close();
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(kept(), 1U);
}

TEST_P(FallbackTest, WhatWasCountedSurvivesARestart) {  // S2-25, R2-10
  broken_->fault = Code::unavailable;
  report("t1");
  report("t2");
  report("t3", "workflow+safe");
  EXPECT_EQ(must(shelf().totals()), (FallbackTotals{2, 0, 1}));
  broken_->fault.reset();
  EXPECT_FALSE(shelf().settle());
  desk_.reset();
  broken_.reset();
  restart();
  begin();
  EXPECT_EQ(must(shelf().totals()), (FallbackTotals{2, 2, 1}));
  broken_->fault = Code::unavailable;
  report("t4");
  EXPECT_EQ(must(shelf().totals()), (FallbackTotals{3, 2, 1}));
}

INSTANTIATE_TEST_SUITE_P(Offices, FallbackTest, ::testing::Values("memory", "sqlite"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace dlo
