#include "dlo/api/gatherer.h"

#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

namespace dlo::api {
namespace {

/// An exchange whose round ends when a test says so.
class Round final : public HttpExchange {
 public:
  void send(HttpResponse) override {}
  void begin(HttpResponse) override {}
  Room write(std::string_view) override { return Room::gone; }
  void when_room(std::function<void(bool)> then) override { then(false); }
  void end() override {}
  [[nodiscard]] bool gone() const noexcept override { return false; }
  void after_round(std::function<void()> then) override { after_.push_back(std::move(then)); }
  void over() {
    auto all = std::move(after_);
    after_.clear();
    for (auto& each : all) each();
  }
  [[nodiscard]] std::size_t asked() const { return after_.size(); }

 private:
  std::vector<std::function<void()>> after_;
};

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
