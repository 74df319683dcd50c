// Time that never goes back.

#include "dlo/engine/clock.h"

#include "world.h"

namespace dlo::testing {
namespace {

using namespace std::chrono_literals;

TEST(SystemClockOffset, FollowsAWallClockThatIsSetForwardAtOnce) {
  EXPECT_EQ(SystemClock::next_offset(0ms, 1h, 100ms), 1h);
}

TEST(SystemClockOffset, GoesOnAtHalfSpeedWhileTheWallClockIsBehind) {
  EXPECT_EQ(SystemClock::next_offset(1h, 0ms, 100ms), 1h - 50ms);
  Millis offset = 1h;
  Millis passed = 0ms;
  while (offset > 0ms) {
    const Millis next = SystemClock::next_offset(offset, 0ms, 100ms);
    ASSERT_LT(next, offset);
    ASSERT_GE(next + 100ms, offset) << "now() would go back";
    offset = next;
    passed += 100ms;
  }
  EXPECT_EQ(offset, 0ms) << "caught up, not overshot";
  EXPECT_EQ(passed, 2h);
}

TEST(SystemClockOffset, StaysWhereItIsRight) {
  EXPECT_EQ(SystemClock::next_offset(7ms, 7ms, 100ms), 7ms);
  EXPECT_EQ(SystemClock::next_offset(8ms, 7ms, 100ms), 7ms) << "a little too far is put right";
}

TEST(SystemClock, IsTheTimeOfTheMachine) {
  const SystemClock clock;
  const auto before = std::chrono::floor<Millis>(std::chrono::system_clock::now());
  const TimePoint now = clock.now();
  const auto after = std::chrono::ceil<Millis>(std::chrono::system_clock::now());
  EXPECT_GE(now.time_since_epoch() + 2ms, before.time_since_epoch());
  EXPECT_LE(now.time_since_epoch(), after.time_since_epoch() + 2ms);
}

TEST(SystemClock, NeverAnswersLessThanItAnsweredAnybody) {
  const SystemClock clock;
  std::atomic<std::int64_t> latest{0};
  std::atomic<bool> went_back{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20'000; ++n) {
        const std::int64_t known = latest.load();
        const std::int64_t now = clock.now().time_since_epoch().count();
        if (now < known) went_back = true;
        std::int64_t seen = latest.load();
        while (seen < now && !latest.compare_exchange_weak(seen, now)) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(went_back);
}

TEST(SystemClock, DoesNotWaitForADeadlineThatIsPast) {
  const SystemClock clock;
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  clock.wait_until(lock, never, clock.now() - 1h);
  clock.wait_until(lock, never, TimePoint::min() + 2h);
  EXPECT_TRUE(lock.owns_lock());
}

TEST(SystemClock, WaitsUntilTheDeadlineOrACall) {
  const SystemClock clock;
  std::mutex mutex;
  std::condition_variable called;
  std::unique_lock lock(mutex);
  const TimePoint soon = clock.now() + 5ms;
  while (clock.now() < soon) clock.wait_until(lock, called, soon);
  EXPECT_GE(clock.now(), soon);

  bool done = false;
  std::thread caller([&] {
    const std::lock_guard own(mutex);
    done = true;
    called.notify_all();
  });
  while (!done) clock.wait_until(lock, called, TimePoint::max());  // the end of time: no overflow
  lock.unlock();
  caller.join();
}

TEST(SystemClock, ItsSteadyReadingBeginsWithTheWallTimeAndGoesOn) {
  const SystemClock clock;
  const Instant first = clock.instant();
  EXPECT_LE(first.wall - first.steady, 100ms);
  EXPECT_LE(first.steady - first.wall, 100ms);
  Instant last = first;
  while (last.steady < first.steady + 20ms) {
    const Instant next = clock.instant();
    ASSERT_GE(next.steady, last.steady);
    last = next;
  }
}

TEST(Instant, LeadsFromOneClockToTheOther) {
  const Instant now{noon + 1h, noon};
  EXPECT_EQ(now.wall_at(noon + 5s), noon + 1h + 5s);
  EXPECT_EQ(now.steady_at(noon), noon - 1h);
  EXPECT_EQ(now.wall_at(TimePoint::max()), TimePoint::max());
  EXPECT_EQ(now.wall_at(TimePoint::max() - 1min), TimePoint::max());
  EXPECT_EQ(now.steady_at(TimePoint::min() + 1min), TimePoint::min());
}

TEST(ManualClock, CanBeSetForwardWithoutTimePassing) {
  ManualClock clock(noon);
  clock.advance(1s);
  clock.set_forward(1h);
  EXPECT_EQ(clock.now(), noon + 1h + 1s);
  EXPECT_EQ(clock.instant(), (Instant{noon + 1h + 1s, noon + 1s}));
}

TEST(ManualClock, MovesWhenToldAndNeverBack) {
  ManualClock clock(noon);
  EXPECT_EQ(clock.now(), noon);
  clock.advance(1s);
  clock.advance_to(noon);
  EXPECT_EQ(clock.now(), noon + 1s);
  clock.advance_to(noon + 2s);
  EXPECT_EQ(clock.now(), noon + 2s);
  EXPECT_EQ(clock.ticks(), (noon + 2s).time_since_epoch());
}

}  // namespace
}  // namespace dlo::testing
