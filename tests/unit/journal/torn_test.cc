// A disk that loses its power in the middle of a sector, or forgets how long a file was; and one
// that fails for a moment, wherever that is.
#include <algorithm>
#include <atomic>
#include <set>

#include "unit/journal/journal_fixture.h"

#include "dlo/journal/inspection.h"

namespace dlo {
namespace {

using testing::FaultFileSystem;
using testing::must;
using Op = FaultFileSystem::Op;

class TornSectors : public JournalTest {
 protected:
  /// Records that are acknowledged, over several segments, and a clean stop, on a disk on which the
  /// given operation and everything after it fails. Whether it got that far.
  bool work(int until) {
    acknowledged_.clear();
    std::atomic<int> left = until;
    disk_->set_fault([&left](Op, const std::string&) {
      return --left < 0 ? std::optional(Code::unavailable) : std::nullopt;
    });
    auto options = small_segments();
    options.prepare_ahead = false;
    auto opened = try_open(options);
    if (opened) {
      for (int i = 0; i < 30; ++i) add(**opened, std::to_string(i) + std::string(500U, 'x'));
      (void)(*opened)->close();
      opened->reset();
    }
    disk_->set_fault({});
    return left < 0;
  }

  void add(Journal& journal, const std::string& body) {
    const NewRecord record{1, {}, body};
    const auto placed = journal.append({&record, 1}, {});
    if (placed && journal.durable(*placed)) acknowledged_.push_back(body);
  }

  std::vector<std::string> acknowledged_;
};

TEST_F(TornSectors, LoseNothingThatWasAcknowledgedWhereverThePowerIsCut) {
  bool cut = true;
  for (int until = 1; cut; ++until) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(std::to_string(until) + ", seed " + std::to_string(seed));
      disk_ = std::make_unique<FaultFileSystem>();
      cut = work(until);
      disk_->power_cut(seed + static_cast<std::uint64_t>(until) * 100);
      Inspection before(*disk_);
      must(before.walk([](const Entry&) { return Result<void>(); }));
      EXPECT_TRUE(before.damages.empty()) << before.damages.front().what;
      const auto opened = try_open();
      ASSERT_TRUE(opened) << opened.error().detail;
      const auto here = bodies();
      ASSERT_GE(here.size(), acknowledged_.size());
      ASSERT_TRUE(std::equal(acknowledged_.begin(), acknowledged_.end(), here.begin()));
      ASSERT_LE(here.size(), acknowledged_.size() + 1) << "one was under way at most";
    }
  }
}

// Behind a first seal anything is damage, but not what is left of the second.
TEST_F(TornSectors, MakeAnInterruptedStopOfTheSecondSeal) {
  open();
  append_durable("first");
  must(journal_->close());
  journal_.reset();
  const std::string name = must(disk_->list()).front();
  const std::string whole = disk_->bytes(name);
  const auto seal = whole.size() - 64;
  const auto last = whole.find_last_not_of('\0');
  for (const bool new_first : {true, false}) {
    for (auto at = seal + 1; at <= last; ++at) {
      SCOPED_TRACE(std::to_string(at - seal) + (new_first ? " new bytes" : " old bytes"));
      disk_ = std::make_unique<FaultFileSystem>();
      must(must(disk_->open(name, OpenMode::create))->write_at(0, whole));
      std::string& bytes = disk_->bytes(name);
      const auto from = new_first ? at : seal;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                  new_first ? bytes.size() - at : at - seal, '\0');
      Inspection inspection(*disk_);
      must(inspection.walk([](const Entry&) { return Result<void>(); }));
      EXPECT_TRUE(inspection.damages.empty());
      EXPECT_GT(inspection.unfinished, 0U);
      open();
      EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
      EXPECT_GT(report_.cut_bytes, 0U) << "it is told";
      EXPECT_NE(report_.cut_copy, "");
      append_durable("second");
      open();
      EXPECT_EQ(bodies(), (std::vector<std::string>{"first", "second"}));
      journal_.reset();
    }
  }
}

/// Fails once, at the operation with this number.
FaultFileSystem::Fault once(int& number, std::optional<Op>& which) {
  return [&number, &which](Op op, const std::string&) -> std::optional<Code> {
    if (--number != 0) return std::nullopt;
    which = op;
    return Code::unavailable;
  };
}

TEST_F(JournalTest, WhatItAcknowledgedIsThereWhicheverOperationFailsOnce) {
  auto options = small_segments();
  options.prepare_ahead = false;
  std::set<Op> failed;
  std::optional<Op> which;
  for (int at = 1; at == 1 || which; ++at) {
    SCOPED_TRACE(at);
    which.reset();
    disk_ = std::make_unique<FaultFileSystem>();
    std::vector<std::string> acknowledged;
    std::optional<std::uint32_t> full;
    int left = at;
    disk_->set_fault(once(left, which));
    for (int life = 0; life < 2; ++life) {
      auto opened = try_open(options);
      if (!opened) continue;
      Journal& journal = **opened;
      for (int i = 0; i < 12; ++i) {
        const auto body = std::to_string(life) + "." + std::to_string(i) + std::string(700, 'y');
        const NewRecord record{1, {}, body};
        Location where;
        const auto placed = journal.append({&record, 1}, {&where, 1});
        if (placed && journal.durable(*placed)) acknowledged.push_back(body);
        if (i == 0 && life == 0) full = where.segment;
      }
      const bool keeps = life == 1 && full && at % 2 == 0;
      if (keeps && journal.release(*full)) {
        std::erase_if(acknowledged, [&](const std::string& body) {
          return std::any_of(seen_.begin(), seen_.end(), [&](const Seen& each) {
            return each.location.segment == *full && each.body == body;
          });
        });
      }
      if (life == 0) (void)journal.close();
    }
    if (which) failed.insert(*which);
    disk_->set_fault({});
    const auto opened = try_open(options);
    ASSERT_TRUE(opened) << opened.error().detail;
    const auto here = bodies();
    for (const auto& each : acknowledged) {
      EXPECT_NE(std::find(here.begin(), here.end(), each), here.end()) << each.substr(0, 5);
    }
    if (HasFailure()) return;
  }
  for (const Op op : {Op::write, Op::sync, Op::open, Op::read, Op::truncate, Op::sync_names}) {
    EXPECT_TRUE(failed.contains(op)) << static_cast<int>(op);
  }
}

}  // namespace
}  // namespace dlo
