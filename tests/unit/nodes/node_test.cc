#include "dlo/nodes/node.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>

#include "support/eventually.h"
#include "support/must.h"

#include "dlo/store/fenced_office.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

/// A seat as an office gives it: one holder, and whoever is cut off loses it to the next.
struct Lock {
  std::mutex mutex;
  const void* holder = nullptr;
  std::string name;
};

class TestSeat final : public LeaderSeat {
 public:
  TestSeat(Lock& lock, std::string who) : lock_(lock), who_(std::move(who)) {}
  ~TestSeat() override { leave(); }

  Result<SeatView> look() override {
    const std::lock_guard held(lock_.mutex);
    if (cut_off.load()) {
      release();
      return Error{Code::unavailable, "test", "no way there"};
    }
    if (frozen.load()) return SeatView{turns_, who_, {}};  // it still believes
    if (lock_.holder == nullptr) {
      lock_.holder = this;
      lock_.name = who_;
      ++turns_;
    }
    return SeatView{lock_.holder == this ? turns_ : 0, lock_.name, {}};
  }
  bool wait(Millis, const std::stop_token&) override {
    std::unique_lock held(waiting_);
    (void)hinted_.wait_for(held, Millis{1}, [this] { return hints.load(); });
    return hints.exchange(false);
  }
  void leave() noexcept override {
    const std::lock_guard held(lock_.mutex);
    release();
  }
  /// The office takes it away, without a word.
  void take_away() {
    const std::lock_guard held(lock_.mutex);
    release();
  }

  std::atomic<bool> cut_off{false};
  std::atomic<bool> frozen{false};
  std::atomic<bool> hints{false};

 private:
  std::mutex waiting_;
  std::condition_variable hinted_;
  void release() noexcept {
    if (lock_.holder == this) lock_.holder = nullptr;
  }
  Lock& lock_;
  const std::string who_;
  std::uint64_t turns_ = 0;
};

/// A node and what it was told to do.
struct Member {
  Member(Office& office, Lock& lock, const std::string& name)
      : seat(lock, seat_name_of(name)),
        node(seat, office, clock, {name, Millis{5}, Millis{1}, Millis{1'000}},
             {[this](std::uint64_t on) { term.store(on); }, [this] { term.store(0); },
              [this] { looks.fetch_add(1); }}) {}
  [[nodiscard]] bool leads() const { return term.load() != 0 && node.status().leads; }

  SystemClock clock;
  TestSeat seat;
  std::atomic<std::uint64_t> term{0};
  std::atomic<int> looks{0};
  Node node;
};

struct Nodes : ::testing::Test {
  Member& join(const std::string& name) {
    members.push_back(std::make_unique<Member>(office, lock, name));
    members.back()->node.start();
    return *members.back();
  }
  [[nodiscard]] bool write_as_leader_of(std::uint64_t term) {
    FencedOffice fenced(office, term);
    const Change note = PutDocument{"work", "one", "done", std::nullopt};
    return fenced.apply({&note, 1}).has_value();
  }
  MemoryOffice office;
  Lock lock;
  std::vector<std::unique_ptr<Member>> members;
};

TEST_F(Nodes, OneLeadsAndTheOthersKnowWho) {
  Member& ann = join("ann");
  ASSERT_TRUE(eventually([&] { return ann.leads(); }));
  Member& bob = join("bob");
  EXPECT_TRUE(eventually([&] { return bob.node.status().leader == "ann"; }));
  EXPECT_FALSE(bob.node.status().leads);
  EXPECT_EQ(bob.term.load(), 0U);
  EXPECT_EQ(ann.node.status().leader, "ann");
  EXPECT_EQ(must(office.extras().ledger->document(leader_kind, leader_key))->body, "ann");
  EXPECT_TRUE(write_as_leader_of(ann.term));
}

TEST_F(Nodes, WhoStopsHandsOverAndHasEndedItsDutiesFirst) {
  Member& ann = join("ann");
  ASSERT_TRUE(eventually([&] { return ann.leads(); }));
  Member& bob = join("bob");
  ann.node.stop();
  EXPECT_EQ(ann.term.load(), 0U);
  EXPECT_TRUE(eventually([&] { return bob.leads(); }));
  EXPECT_EQ(bob.node.status().leader, "bob");
}

TEST_F(Nodes, WhoIsCutOffEndsItsDutiesAndAnotherTakesOver) {
  Member& ann = join("ann");
  ASSERT_TRUE(eventually([&] { return ann.leads(); }));
  Member& bob = join("bob");
  ann.seat.cut_off.store(true);
  EXPECT_TRUE(eventually([&] { return bob.leads() && ann.term.load() == 0; }));
  ann.seat.cut_off.store(false);
  EXPECT_TRUE(eventually([&] { return ann.node.status().leader == "bob"; }));
  EXPECT_EQ(ann.term.load(), 0U);
}

TEST_F(Nodes, WhoDoesNotKnowYetThatAnotherLeadsWritesNothing) {
  Member& ann = join("ann");
  ASSERT_TRUE(eventually([&] { return ann.leads(); }));
  const std::uint64_t before = ann.term.load();
  ann.seat.frozen.store(true);
  ann.seat.take_away();
  Member& bob = join("bob");
  ASSERT_TRUE(eventually([&] { return bob.leads(); }));
  EXPECT_FALSE(write_as_leader_of(before)) << "a term that is over";
  EXPECT_GT(bob.term.load(), before);
  ann.seat.frozen.store(false);
  EXPECT_TRUE(eventually([&] { return ann.term.load() == 0; }));
  EXPECT_TRUE(eventually([&] { return bob.leads() && write_as_leader_of(bob.term); }));
}

// One that slept before it wrote its term ends that of whoever has the seat by now.
TEST_F(Nodes, WhoHasTheSeatTakesItAnewIfSomebodyEndedHisTerm) {
  Member& ann = join("ann");
  ASSERT_TRUE(eventually([&] { return ann.leads(); }));
  const std::uint64_t before = ann.term.load();
  const Change sleeper = PutDocument{leader_kind, leader_key, "sleeper", std::nullopt};
  must(office.apply({&sleeper, 1}));
  EXPECT_TRUE(eventually([&] { return ann.leads() && ann.term.load() > before; }));
  EXPECT_TRUE(write_as_leader_of(ann.term));
}

TEST_F(Nodes, AHintIsFollowedAtOnceAndWithoutOneItIsLookedAllTheSame) {
  Member& ann = join("ann");
  EXPECT_TRUE(eventually([&] { return ann.looks.load() > 3; })) << "now and then";
  const int before = ann.looks.load();
  ann.seat.hints.store(true);
  EXPECT_TRUE(eventually([&] { return ann.looks.load() > before; }));
}

}  // namespace
}  // namespace dlo::testing
