#include "dlo/store/fenced_office.h"

#include <gtest/gtest.h>

#include "support/must.h"

#include "dlo/store/memory/memory_office.h"

namespace dlo::testing {
namespace {

struct FencedOfficeTest : ::testing::Test {
  std::uint64_t lead(const std::string& who) {
    const Change taken = PutDocument{leader_kind, leader_key, who, std::nullopt};
    return must(office.apply({&taken, 1})).front().version;
  }
  static Change note(const std::string& body, std::optional<std::uint64_t> expected = {}) {
    return PutDocument{"work", "one", body, expected};
  }
  Code refusal_of(Office& by, const Change& change) {
    const auto applied = by.apply({&change, 1});
    EXPECT_FALSE(applied);
    return applied ? Code::corrupt : applied.error().code;
  }
  [[nodiscard]] std::string written() {
    const auto found = must(office.extras().ledger->document("work", "one"));
    return found ? found->body : "";
  }

  MemoryOffice office;
};

TEST_F(FencedOfficeTest, WritesAsLongAsItsTermLasts) {
  FencedOffice first(office, lead("first"));
  const std::vector<Change> list{note("one"), note("two")};
  EXPECT_EQ(must(first.apply(list)).size(), list.size()) << "one answer for each change";
  EXPECT_EQ(written(), "two");
}

TEST_F(FencedOfficeTest, WhoWokeUpTooLateWritesNothing) {
  FencedOffice first(office, lead("first"));
  FencedOffice second(office, lead("second"));
  EXPECT_EQ(refusal_of(first, note("too late")), Code::unavailable);
  EXPECT_EQ(written(), "");
  const Change good = note("in time");
  EXPECT_TRUE(second.apply({&good, 1}));
}

TEST_F(FencedOfficeTest, AConflictOfTheListItselfStaysOne) {
  FencedOffice first(office, lead("first"));
  EXPECT_EQ(refusal_of(first, note("from another version", 77)), Code::conflict);
}

TEST_F(FencedOfficeTest, ALostTermIsToldWhateverElseIsWrong) {
  FencedOffice first(office, lead("first"));
  lead("second");
  EXPECT_EQ(refusal_of(first, note("from another version", 77)), Code::unavailable);
}

}  // namespace
}  // namespace dlo::testing
