#include "dlo/entities/effect_keeper.h"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <vector>

#include "support/must.h"

#include "dlo/entities/entity_steps.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo {
namespace {

using namespace std::chrono_literals;
using testing::must;
using testing::noon;

class EffectKeeperTest : public ::testing::Test {
 protected:
  EffectKeeperTest() { kind_.has_effect = true; }

  /// One that has failed for good.
  void die(const std::string& id) {
    const auto step = [&](bool is_new) {
      must(book_.change("payment", id,
                        [&](const std::optional<KeptEntity>& now) -> Result<EntityBook::Step> {
                          if (is_new) return register_step(kind_, id, now, {}, clock_.now());
                          auto next = retry_step(kind_, id, now, {}, rules_, {}, clock_.now());
                          if (!next) return next.error();
                          return std::move(next->step);
                        }));
    };
    step(true);
    for (int i = 0; i < 4; ++i) step(false);
  }
  EntityEffect effect_of(const std::string& id) {
    return must(book_.get(kind_, id)).entity.effect.value_or(EntityEffect{});
  }
  std::size_t owed() {
    return must(office_.extras().ledger->documents(effect_document, "", 100)).size();
  }
  CarryOutEffect tell() {
    return [this](const Entity& entity, const std::stop_token&) {
      told_.push_back(entity.id + " " + to_string(*entity.dead_letter));
      return answer_;
    };
  }

  MemoryOffice office_;
  ManualClock clock_{noon};
  EntityKind kind_ = payment_kind();
  EntityBook book_{office_};
  const RuleBook rules_ = must(RuleBook::build(must(find_profile("booking-retry-api"))));
  std::vector<std::string> told_;
  Result<void> answer_;
};

TEST_F(EffectKeeperTest, AnOwnerIsToldOnceAndThatIsKept) {
  die("7");
  EXPECT_EQ(owed(), 1U);
  EffectKeeper keeper(office_, clock_, "payment", tell());
  EXPECT_EQ(keeper.work(noon), std::nullopt);
  EXPECT_EQ(effect_of("7").state, EffectState::applied);
  EXPECT_EQ(owed(), 0U);
  EXPECT_EQ(keeper.work(noon + 1h), std::nullopt);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(EffectKeeperTest, WhatFailedIsToldAgainUnderTheSameKeyWhenItIsTime) {
  die("7");
  answer_ = Error{Code::unavailable, "t", "no answer"};
  EffectKeeper keeper(office_, clock_, "payment", tell());
  EXPECT_EQ(keeper.work(noon), noon + 1s);
  EXPECT_EQ(effect_of("7").why, "no answer");
  EXPECT_EQ(keeper.work(noon + 999ms), noon + 1s) << "not yet";
  EXPECT_EQ(told_.size(), 1U);
  clock_.advance(Millis{1s});
  EXPECT_EQ(keeper.work(noon + 1s), noon + 3s);
  answer_ = {};
  clock_.advance(Millis{2s});
  // Another process, after a kill: what is owed is in the office.
  EffectKeeper after(office_, clock_, "payment", tell());
  EXPECT_EQ(after.work(noon + 3s), std::nullopt);
  ASSERT_EQ(told_.size(), 3U);
  EXPECT_EQ(told_[0], told_[2]);
  EXPECT_EQ(effect_of("7").state, EffectState::applied);
  EXPECT_EQ(effect_of("7").tries, 3U);
}

TEST_F(EffectKeeperTest, OneThatIsRefusedWaitsForAPersonAndHoldsUpNobody) {
  die("7");
  die("8");
  EffectKeeper keeper(office_, clock_, "payment",
                      [](const Entity& entity, const std::stop_token&) -> Result<void> {
                        if (entity.id == "8") return {};
                        return Error{Code::invalid_argument, "t", "no such table"};
                      });
  for (int i = 0; i < 5; ++i) {
    (void)keeper.work(clock_.now());
    EXPECT_EQ(effect_of("8").state, EffectState::applied);
    clock_.advance(Millis{1min});
  }
  EXPECT_EQ(effect_of("7").state, EffectState::failed);
  EXPECT_EQ(effect_of("7").why, "no such table");
  EXPECT_EQ(owed(), 0U);
}

TEST_F(EffectKeeperTest, OneThatIsOpenedAgainMeanwhileOwesNothing) {
  die("7");
  EffectKeeper keeper(
      office_, clock_, "payment", [&](const Entity&, const std::stop_token&) -> Result<void> {
        must(book_.change("payment", "7",
                          [&](const std::optional<KeptEntity>& now) -> Result<EntityBook::Step> {
                            EntityBook::Step step;
                            step.next = must(reopened(kind_, now->entity, noon));
                            return step;
                          }));
        return {};
      });
  (void)keeper.work(noon);
  EXPECT_FALSE(must(book_.get(kind_, "7")).entity.effect);
  (void)keeper.work(noon);
  EXPECT_EQ(owed(), 0U) << "a note that outlived what it was about is removed";
}

TEST_F(EffectKeeperTest, OtherKindsAreOfNoConcern) {
  die("7");
  EffectKeeper keeper(office_, clock_, "pay", tell());
  EXPECT_EQ(keeper.work(noon), std::nullopt);
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(owed(), 1U);
}

TEST_F(EffectKeeperTest, ACallThatIsUnderWayEndsWithTheServerAndIsOwedStill) {
  die("7");
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  EffectKeeper keeper(office_, clock_, "payment",
                      [&](const Entity&, const std::stop_token& stop) -> Result<void> {
                        const std::stop_callback wake(stop, [&] {
                          const std::lock_guard lock(mutex);
                          changed.notify_all();
                        });
                        std::unique_lock lock(mutex);
                        begun = true;
                        changed.notify_all();
                        changed.wait_for(lock, 30s, [&] { return stop.stop_requested(); });
                        return Error{Code::unavailable, "t", "stopped"};
                      });
  keeper.start();
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, 30s, [&] { return begun; }));
  }
  keeper.stop();
  EXPECT_EQ(effect_of("7").state, EffectState::pending);
  EXPECT_EQ(effect_of("7").tries, 0U);
  EXPECT_EQ(owed(), 1U);
}

}  // namespace
}  // namespace dlo
