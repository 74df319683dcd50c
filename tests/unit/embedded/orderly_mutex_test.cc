#include "dlo/broker/embedded/orderly_mutex.h"

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

#include "support/eventually.h"

namespace dlo::embedded {
namespace {

using testing::eventually;

TEST(OrderlyMutex, LetsThoseWhoWaitGoFirstWhileItIsOrderly) {
  OrderlyMutex mutex;
  for (const bool waits_already : {true, false}) {
    std::atomic<bool> had_it = false;
    OrderlyLock held(mutex);
    mutex.set_orderly(!waits_already);
    std::thread other([&] {
      const OrderlyLock lock(mutex);
      had_it = true;
    });
    ASSERT_TRUE(eventually([&] { return mutex.waiting() == 1; }));
    mutex.set_orderly(true);
    held.unlock();
    {
      const OrderlyLock again(mutex);
      EXPECT_TRUE(had_it) << "the same one took it twice";
      mutex.set_orderly(false);
    }
    other.join();
  }
}

TEST(OrderlyMutex, KeepsTheOrderInWhichTheyCame) {
  OrderlyMutex mutex;
  std::vector<int> order;
  std::vector<std::thread> others;
  {
    OrderlyLock held(mutex);
    mutex.set_orderly(true);
    for (int i = 0; i < 8; ++i) {
      others.emplace_back([&, i] {
        const OrderlyLock lock(mutex);
        order.push_back(i);
      });
      ASSERT_TRUE(eventually([&] { return mutex.waiting() == static_cast<unsigned>(i) + 1; }));
    }
  }
  for (auto& each : others) each.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(OrderlyMutex, ExcludesWhicheverMannerItHas) {
  OrderlyMutex mutex;
  int count = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&, i] {
      for (int round = 0; round < 500; ++round) {
        const OrderlyLock lock(mutex);
        ++count;
        if (i == 0) mutex.set_orderly(round % 7 == 0);
      }
      const OrderlyLock lock(mutex);
      if (i == 0) mutex.set_orderly(false);
    });
  }
  for (auto& each : others) each.join();
  EXPECT_EQ(count, 2000);
  EXPECT_EQ(mutex.waiting(), 0U);
}

}  // namespace
}  // namespace dlo::embedded
