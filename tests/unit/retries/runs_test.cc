// What a run leaves behind: its token, its row, what it costs, what is said of it.

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <vector>

#include "retry_room.h"

#include "dlo/retries/task_book.h"

namespace dlo::testing {
namespace {

class Runs : public RetryRoom {
 protected:
  void move(const RecordId& id, Status to) {
    Transition moved;
    moved.id = id;
    moved.to = to;
    moved.now = clock.now();
    const Change change = moved;
    must(office().apply({&change, 1}));
  }
  std::vector<Attempt> attempts(const RecordId& id) { return must(office().get(id)).attempts; }
};
INSTANTIATE_TEST_SUITE_P(Offices, Runs, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(Runs, ALaterRunOfATaskHasALargerFence) {  // issue 5: so that an executor can refuse
  std::vector<std::string> fences;
  on("llamaindex", [&](const Message&, const RunContext& context) {
    fences.push_back(to_string(context.fence));
    return fails("timeout");
  });
  const RecordId id = report("wf_1", "timeout", ask("linear", 9));
  for (int n = 0; n < 3; ++n) {
    pass(1h);
    restart();
  }
  EXPECT_EQ(fences.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(fences)) << "as text, too";
  EXPECT_EQ(std::set(fences.begin(), fences.end()).size(), fences.size());
  EXPECT_EQ(record(id).counters.retry, 8U);
}

TEST_P(Runs, ARunWhoseTaskWasArchivedMeanwhileIsAmongItsAttempts) {  // issue 5, I9
  RecordId id;
  bool well = false;
  on("llamaindex", [&](const Message&, const RunContext&) {
    move(id, Status::archived);
    return well ? works() : fails("the disk is on fire");
  });
  for (const bool works_now : {true, false}) {
    well = works_now;
    id = report(well ? "wf_1" : "wf_2", "timeout", ask("immediate", 3));
    processor().drain();
    EXPECT_EQ(status(id), Status::archived);
    const auto rows = attempts(id);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows.front().number, record(id).counters.total);
    EXPECT_EQ(rows.front().outcome, well ? OutcomeKind::ok : OutcomeKind::failed);
    EXPECT_EQ(rows.front().error_text, well ? "" : "the disk is on fire");
  }
}

TEST_P(Runs, OneThatIsRestoredWasNotCutOff) {
  RecordId id;
  int runs = 0;
  on("llamaindex", [&](const Message&, const RunContext&) {
    if (++runs == 1) move(id, Status::archived);
    return fails("timeout");
  });
  id = report("wf_1", "timeout", ask("immediate", 3));
  processor().drain();
  move(id, Status::pending);
  retry_by_hand(id);
  processor().drain();
  ASSERT_GE(runs, 2);
  for (const Attempt& each : attempts(id)) EXPECT_NE(each.outcome, OutcomeKind::crashed);
}

}  // namespace
}  // namespace dlo::testing
