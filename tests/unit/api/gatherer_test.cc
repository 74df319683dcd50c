#include "dlo/api/gatherer.h"

#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

#include "unit/api/round.h"

namespace dlo::api {
namespace {

TEST(Gatherer, WhatArrivesInOneRoundIsWrittenInOneList) {
  WorkerPool pool(2, 10);
  std::vector<std::vector<int>> written;
  Gatherer<int> gatherer(
      pool, 10, 1, [&](std::vector<int> all) { written.push_back(std::move(all)); },
      [](int&) { FAIL(); });
  Round round;
  for (int i = 0; i < 3; ++i) gatherer.add(int{i}, round);
  EXPECT_EQ(round.asked(), 1U) << "one start for all of them";
  EXPECT_EQ(pool.waiting(), 0U);
  round.over();
  pool.close();
  EXPECT_EQ(written, (std::vector<std::vector<int>>{{0, 1, 2}}));
}

TEST(Gatherer, AListHasOnlySoManyAndTheRestFollowsInOrder) {
  WorkerPool pool(2, 10);
  std::vector<std::vector<int>> written;
  Gatherer<int> gatherer(
      pool, 2, 1, [&](std::vector<int> all) { written.push_back(std::move(all)); },
      [](int&) { FAIL(); });
  Round round;
  for (int i = 0; i < 5; ++i) gatherer.add(int{i}, round);
  round.over();
  pool.close();
  EXPECT_EQ(written, (std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4}}));
}

TEST(Gatherer, WhatNoThreadCanBeHadForIsRefusedAndTheNextIsTakenAgain) {
  WorkerPool closed(1, 10);
  closed.close();
  std::vector<int> refused;
  Gatherer<int> gatherer(
      closed, 10, 1, [](std::vector<int>) { FAIL(); }, [&](int& item) { refused.push_back(item); });
  Round round;
  gatherer.add(1, round);
  gatherer.add(2, round);
  round.over();
  gatherer.add(3, round);
  round.over();
  EXPECT_EQ(refused, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace dlo::api
