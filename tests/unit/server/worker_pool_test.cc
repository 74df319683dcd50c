#include "dlo/server/worker_pool.h"

#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

namespace dlo {
namespace {

TEST(WorkerPool, RunsWhateverWasPostedByManyWhoHurryAndWhoDoNot) {
  constexpr int posters = 4;
  constexpr int each = 1'000;
  std::atomic<int> ran = 0;
  {
    WorkerPool pool(3, 1'000'000);
    std::vector<std::jthread> threads;
    for (int i = 0; i < posters; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < each; ++n) {
          ASSERT_TRUE(pool.post([&ran] { ++ran; }));
          if (i == 0 && n % 100 == 0) std::this_thread::yield();  // time to fall asleep
        }
      });
    }
  }
  EXPECT_EQ(ran, posters * each);
}

/// Whoever stays up takes one task. A second that comes at the same time needs another thread.
TEST(WorkerPool, ATaskThatBlocksKeepsNoOtherWaiting) {
  WorkerPool pool(2, 100);
  std::mutex mutex;
  std::condition_variable changed;
  for (int round = 0; round < 500; ++round) {
    int here = 0;
    const auto meet = [&] {  // ends only when both run at once
      std::unique_lock lock(mutex);
      ++here;
      changed.notify_all();
      changed.wait(lock, [&] { return here >= 2; });
      ++here;
      changed.notify_all();
    };
    ASSERT_TRUE(pool.post(meet));
    ASSERT_TRUE(pool.post(meet));
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return here == 4; });
  }
}

TEST(WorkerPool, WhoWentToSleepLastIsWokenFirst) {
  constexpr std::size_t threads = 4;
  WorkerPool pool(threads, 100);
  const auto all_asleep = [&] {
    while (pool.idle() < threads) std::this_thread::yield();
  };
  std::vector<std::thread::id> who;
  for (int i = 0; i < 20; ++i) {
    all_asleep();
    ASSERT_TRUE(pool.post([&] { who.push_back(std::this_thread::get_id()); }));
  }
  all_asleep();
  ASSERT_EQ(who.size(), 20U);
  for (const auto& each : who) EXPECT_EQ(each, who.front());
}

TEST(WorkerPool, RefusesWhatIsTooMuchAndWhatComesAfterItsEnd) {
  std::mutex mutex;
  std::unique_lock held(mutex);
  WorkerPool pool(1, 2);
  std::atomic<bool> busy = false;
  ASSERT_TRUE(pool.post([&] {
    busy = true;
    const std::lock_guard wait(mutex);
  }));
  while (!busy) std::this_thread::yield();
  EXPECT_TRUE(pool.post([] {}));
  EXPECT_TRUE(pool.post([] {}));
  EXPECT_FALSE(pool.post([] {}));
  held.unlock();
  pool.close();
  EXPECT_FALSE(pool.post([] {}));
}

}  // namespace
}  // namespace dlo
