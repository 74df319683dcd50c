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

}  // namespace
}  // namespace dlo::testing
