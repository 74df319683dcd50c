// Who is next, and who is taken out of the middle.
#include "dlo/broker/lineup.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

#include "support/must.h"

namespace dlo {
namespace {

using testing::noon;

/// The least a lineup asks of a table.
struct Table {
  struct Entry {
    SlotNumber next = no_slot;
    TimePoint since{};
    Priority priority = Priority::normal;
  };
  std::vector<Entry> entries;
  [[nodiscard]] SlotNumber next(SlotNumber n) const { return entries[n].next; }
  void set_next(SlotNumber n, SlotNumber next) { entries[n].next = next; }
  [[nodiscard]] TimePoint since(SlotNumber n) const { return entries[n].since; }
  [[nodiscard]] Priority priority(SlotNumber n) const { return entries[n].priority; }
};

// Whoever comes and goes between two slices of a sweep: it finds all who were there when it began
// and still are, nobody twice, and leaves the others in their order.
TEST(Lineup, ASweepInSlicesFindsEverybodyThoughOthersComeAndGo) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Table table;
    Lineup lineup(Millis{20});
    std::set<SlotNumber> here;
    std::set<SlotNumber> marked;
    const auto push = [&] {
      const auto number = static_cast<SlotNumber>(table.entries.size());
      const Millis strayed{random() % 4 == 0 ? random() % 50 : 0};
      table.entries.push_back(
          {no_slot, noon + Millis{number} - strayed, static_cast<Priority>(random() % 3)});
      if (random() % 10 == 0) {
        lineup.push_interrupted(table, number);
      } else {
        lineup.push(table, number);
      }
      here.insert(number);
      if (random() % 3 == 0) marked.insert(number);
    };
    for (int i = 0; i < 60; ++i) push();
    std::set<SlotNumber> expected;
    for (const auto number : marked) expected.insert(number);
    std::set<SlotNumber> swept;
    const auto goes = [&](SlotNumber number) {
      EXPECT_TRUE(here.contains(number));
      if (!marked.contains(number)) return false;
      EXPECT_TRUE(swept.insert(number).second);
      here.erase(number);
      return true;
    };
    while (!lineup.sweep(table, goes, 1 + random() % 7)) {
      for (auto left = random() % 3; left > 0; --left) {
        const auto popped = lineup.pop(table);
        if (popped == no_slot) break;
        EXPECT_EQ(here.erase(popped), 1U);
        expected.erase(popped);
      }
      if (random() % 2 == 0) push();
    }
    for (const auto number : expected) EXPECT_TRUE(swept.contains(number)) << number;
    for (auto popped = lineup.pop(table); popped != no_slot; popped = lineup.pop(table)) {
      EXPECT_EQ(here.erase(popped), 1U) << popped;
    }
    EXPECT_TRUE(here.empty());
  }
}

}  // namespace
}  // namespace dlo
