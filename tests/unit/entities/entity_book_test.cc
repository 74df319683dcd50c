#include "dlo/entities/entity_book.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "support/must.h"

#include "dlo/entities/entity_steps.h"
#include "dlo/store/memory/memory_office.h"

namespace dlo {
namespace {

using testing::must;
using testing::noon;

class EntityBookTest : public ::testing::Test {
 protected:
  KeptEntity add(const std::string& id) {
    return must(book_.change("payment", id, [&](const std::optional<KeptEntity>& now) {
      return register_step(payment_kind(), id, now, {}, noon);
    }));
  }
  Result<KeptEntity> retry(EntityBook& book, const std::string& id) {
    return book.change("payment", id,
                       [&](const std::optional<KeptEntity>& now) -> Result<EntityBook::Step> {
                         auto step = retry_step(payment_kind(), id, now, {}, rules_, {}, noon);
                         if (!step) return step.error();
                         return std::move(step->step);
                       });
  }
  std::size_t dead() { return must(office_.list(Query{})).rows.size(); }

  MemoryOffice office_;
  EntityBook book_{office_};
  const RuleBook rules_ = must(RuleBook::build(must(find_profile("booking-retry-api"))));
};

TEST_F(EntityBookTest, WhatIsNotThereIsNotFoundInTheWordsOfTheDocument) {  // S1-25
  EXPECT_FALSE(must(book_.find("payment", "7")));
  const auto missing = book_.get(payment_kind(), "7");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().detail, "Payment 7 not found");
  EXPECT_EQ(retry(book_, "7").error().detail, "Payment 7 not found");
}

TEST_F(EntityBookTest, ARepeatedRegistrationWritesNothing) {
  const KeptEntity first = add("7");
  EXPECT_NE(first.version, 0U);
  EXPECT_EQ(add("7").version, first.version);
}

TEST_F(EntityBookTest, NoCallIsLostAndOneRecordIsMadeHoweverManyAskAtOnce) {  // S1-10
  add("7");
  constexpr int number = 12;
  std::atomic<int> allowed{0};
  std::atomic<int> ended{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < number; ++i) {
    callers.emplace_back([&] {
      EntityBook own(office_);
      const auto told = retry(own, "7");
      if (!told) {
        ++(told.error().code == Code::conflict ? refused : ended);
      } else {
        ++(told->entity.status == EntityStatus::failed ? allowed : ended);
      }
    });
  }
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(allowed, 3);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(refused, number - 4);
  EXPECT_EQ(dead(), 1U);
}

TEST_F(EntityBookTest, APlanThatIsRefusedLeavesEverythingAsItWas) {
  const KeptEntity before = add("7");
  const auto told = book_.change("payment", "7",
                                 [](const std::optional<KeptEntity>&) -> Result<EntityBook::Step> {
                                   return Error{Code::invalid_argument, "t", "no"};
                                 });
  EXPECT_FALSE(told);
  EXPECT_EQ(must(book_.get(payment_kind(), "7")).version, before.version);
}

TEST_F(EntityBookTest, AListHoldsThoseOfOneKindInPagesThatMissNobody) {
  for (int i = 0; i < 1'200; ++i) add(std::to_string(i));
  for (int i = 0; i < 4; ++i) must(retry(book_, "700"));
  const EntityKind other = entity_kind("payment2");  // comes right behind
  must(book_.change(other.name, "x", [&](const std::optional<KeptEntity>& now) {
    return register_step(other, "x", now, {}, noon);
  }));
  std::set<std::string> seen;
  EntityFilter filter;
  filter.limit = 500;
  do {
    const EntityPage page = must(book_.list("payment", filter));
    EXPECT_LE(page.entities.size(), 500U);
    for (const KeptEntity& each : page.entities) EXPECT_TRUE(seen.insert(each.entity.id).second);
    filter.after = page.next;
  } while (!filter.after.empty());
  EXPECT_EQ(seen.size(), 1'200U);
  filter.status = EntityStatus::permanently_failed;
  const EntityPage dead = must(book_.list("payment", filter));
  ASSERT_EQ(dead.entities.size(), 1U);
  EXPECT_EQ(dead.entities[0].entity.id, "700");
  EXPECT_EQ(must(book_.list("payment2", {})).entities.size(), 1U);
}

TEST_F(EntityBookTest, OneThatIsRemovedIsGone) {
  add("7");
  must(book_.change("payment", "7",
                    [](const std::optional<KeptEntity>&) -> Result<EntityBook::Step> {
                      return EntityBook::Step{};
                    }));
  EXPECT_FALSE(must(book_.find("payment", "7")));
}

}  // namespace
}  // namespace dlo
