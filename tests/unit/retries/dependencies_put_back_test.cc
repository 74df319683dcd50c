// Tasks that are waited for and are removed, or put back, meanwhile (S2-54).

#include <string>

#include "unit/retries/dependency_room.h"

namespace dlo {
namespace {

using testing::must;
using testing::Names;
using namespace std::chrono_literals;

class DependenciesPutBack : public testing::DependencyRoom {
 protected:
  void move(const RecordId& id, Status to) {
    Transition ended;
    ended.id = id;
    ended.to = to;
    ended.now = clock.now();
    const Change change = ended;
    must(layered_->apply({&change, 1}));
  }
};
INSTANTIATE_TEST_SUITE_P(Offices, DependenciesPutBack, ::testing::Values("memory", "sqlite"),
                         [](const auto& office) { return std::string(office.param); });

TEST_P(DependenciesPutBack, ATaskWhosePrerequisiteWasDiscardedStaysBlockedWhenThatIsRemoved) {
  report("a", {}, "never");
  report("b", {"a"});
  const RecordId a = task("a").id;
  move(a, Status::discarding);
  ASSERT_EQ(task("b").reason, blocked_reason);
  move(a, Status::discarded);
  EXPECT_EQ(task("b").reason, blocked_reason) << "nothing is left of it, and it was given up";
  kill_and_start();
  EXPECT_EQ(task("b").reason, blocked_reason) << "as before the restart";
  EXPECT_FALSE(task("b").next_retry_at);
  clock.advance(1min);
  report("a", {}, "never");
  EXPECT_EQ(task("b").reason, waits_reason) << "it was reported after all";
}

TEST_P(DependenciesPutBack, ATaskWhosePrerequisiteIsRemovedAtOnceIsBlocked) {
  report("a", {}, "never");
  report("b", {"a"});
  const RecordId a = task("a").id;
  Transition ended;
  ended.id = a;
  ended.to = Status::discarding;
  ended.now = clock.now();
  Transition removed = ended;
  removed.to = Status::discarded;
  const std::vector<Change> changes{ended, removed};
  must(layered_->apply(changes));
  EXPECT_EQ(task("b").reason, blocked_reason);
}

TEST_P(DependenciesPutBack, TasksThatWaitForEachOtherSinceOneWasRestoredAreBlockedAndSayWhy) {
  report("x", {"y"});
  const RecordId x = task("x").id;
  move(x, Status::archived);
  report("y", {"x"});
  ASSERT_EQ(task("y").reason, blocked_reason) << "x was given up";
  move(x, Status::pending);  // as a restore does
  EXPECT_EQ(task("x").reason, blocked_reason);
  EXPECT_NE(task("x").description.find(R"("x" waits for "y" waits for "x")"), std::string::npos)
      << task("x").description;
  EXPECT_EQ(task("y").reason, blocked_reason);
  Transition by_hand;
  by_hand.id = x;
  by_hand.to = Status::pending;
  by_hand.now = clock.now();
  by_hand.next_retry_at = clock.now();
  const Change change = by_hand;
  must(layered_->apply({&change, 1}));
  EXPECT_EQ(run(), (Names{"x", "y"})) << "y waits for nobody any more";
}

}  // namespace
}  // namespace dlo
