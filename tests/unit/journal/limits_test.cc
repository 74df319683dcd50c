// What a journal refuses, and where it begins anew.
#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/fault_file_system.h"
#include "support/must.h"

#include "dlo/journal/journal.h"

namespace dlo {
namespace {

using testing::FaultFileSystem;
using testing::must;

/// Opens a journal and says what was in it.
std::unique_ptr<Journal> opened(FaultFileSystem& disk, const JournalOptions& options,
                                std::vector<std::string>& bodies, RecoveryReport& report) {
  bodies.clear();
  return must(Journal::open(
      disk, options, {},
      [&](const Entry& entry) -> Result<void> {
        bodies.emplace_back(entry.body);
        return {};
      },
      report));
}

TEST(JournalLimits, ASegmentHoldsAsManyRecordsAsCanBeCounted) {
  FaultFileSystem disk;
  JournalOptions options;
  options.segment_size = 4096;
  options.segment_records = 10;
  std::vector<std::string> bodies;
  RecoveryReport report;
  auto journal = opened(disk, options, bodies, report);
  const std::vector<NewRecord> four(4, NewRecord{1, {}, "x"});
  std::vector<Location> where(4);
  std::map<std::uint32_t, int> in_segment;
  for (int i = 0; i < 10; ++i) {
    const auto first = must(journal->append(four, where));
    for (const auto& each : where) {
      EXPECT_EQ(each.segment, where.front().segment) << "a list lies in one group";
      ++in_segment[each.segment];
    }
    if (i % 3 == 0) must(journal->durable(first));
  }
  for (const auto& [segment, records] : in_segment) EXPECT_LE(records, 10) << segment;
  EXPECT_EQ(in_segment.size(), 5U);
  const std::vector<NewRecord> eleven(11, NewRecord{1, {}, "x"});
  const auto refused = journal->append(eleven, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().detail.find("smaller lists"), std::string::npos);
  must(journal->close());
  journal = opened(disk, options, bodies, report);
  EXPECT_EQ(bodies.size(), 40U);
}

std::uint64_t bytes_of_segments(FaultFileSystem& disk) {
  std::uint64_t total = 0;
  for (const auto& name : must(disk.list())) {
    if (segment_number(name)) total += disk.bytes(name).size();
  }
  return total;
}

// A list that would not fit in the rest of a segment left all of that rest empty.
TEST(JournalLimits, ListsOfAnyLengthLeaveNoHolesBetweenSegments) {
  for (const std::size_t length : {1U, 3U, 20U, 33U, 40U, 60U}) {
    FaultFileSystem disk;
    std::vector<std::string> bodies;
    RecoveryReport report;
    JournalOptions options;
    options.segment_size = 64U << 10U;
    options.prepare_ahead = false;
    auto journal = opened(disk, options, bodies, report);
    const std::string body(1000, 'x');
    const std::vector<NewRecord> list(length, NewRecord{1, {}, body});
    std::size_t records = 0;
    for (; records < 2000; records += length) {
      must(journal->durable(must(journal->append(list, {}))));
    }
    const auto written = journal->stats().bytes_written;
    const auto active = options.segment_size + length * body.size();
    EXPECT_LE(bytes_of_segments(disk), written + written / 256 + active) << length;
    EXPECT_GT(journal->stats().segment_numbers.size(), 5U) << length;
    must(journal->close());
    EXPECT_LE(bytes_of_segments(disk), written + written / 256) << length;
    journal = opened(disk, options, bodies, report);
    EXPECT_TRUE(report.clean);
    EXPECT_EQ(bodies.size(), records);
  }
}

// It is the disk that is full, not the journal: the next segment has its room already.
TEST(JournalLimits, ASegmentThatCannotGrowIsLeftForTheNext) {
  FaultFileSystem disk;
  std::vector<std::string> bodies;
  RecoveryReport report;
  JournalOptions options;
  options.segment_size = 16U << 10U;
  auto journal = opened(disk, options, bodies, report);
  const std::string body(1000, 'x');
  const std::vector<NewRecord> list(9, NewRecord{1, {}, body});
  std::vector<Location> where(9);
  must(journal->append(list, where));
  must(journal->wait_for_room(false));
  EXPECT_EQ(where.front().segment, 1U);
  bool no_room = true;
  disk.set_fault([&](FaultFileSystem::Op op, const std::string& name) {
    const bool grows = op == FaultFileSystem::Op::write && segment_number(name) == 1;
    return grows && std::exchange(no_room, false) ? std::optional(Code::disk_full) : std::nullopt;
  });
  must(journal->durable(must(journal->append(list, where))));
  EXPECT_FALSE(no_room) << "it tried";
  EXPECT_EQ(where.front().segment, 2U);
  EXPECT_EQ(disk.bytes(segment_file(1)).size(), options.segment_size);
  journal.reset();
  journal = opened(disk, options, bodies, report);
  EXPECT_EQ(bodies.size(), 18U);
}

// ... and what the last life left in it is not taken for this one's.
TEST(JournalLimits, ASegmentThatGrewIsAsLongAsTheOthersWhenItIsUsedAgain) {
  FaultFileSystem disk;
  std::vector<std::string> bodies;
  RecoveryReport report;
  JournalOptions options;
  options.segment_size = 16U << 10U;
  options.prepare_ahead = false;
  auto journal = opened(disk, options, bodies, report);
  const std::string body(1000, 'x');
  const std::vector<NewRecord> list(9, NewRecord{1, {}, body});
  for (int i = 0; i < 41; ++i) {  // two make a segment grow, and the last one begins another
    must(journal->durable(must(journal->append(list, {}))));
    const auto stats = journal->stats();
    for (const auto number : stats.segment_numbers) {
      if (number != stats.active_segment)
        must(journal->release(static_cast<std::uint32_t>(number)));
    }
  }
  const auto active = journal->stats().active_segment;
  EXPECT_GT(active, 10U);
  EXPECT_EQ(disk.bytes(segment_file(active)).size(), options.segment_size);
  disk.power_cut(5);
  journal = opened(disk, options, bodies, report);
  EXPECT_FALSE(bodies.empty());
}

TEST(JournalLimits, NothingMoreIsTakenWhileItIsBeingClosed) {
  FaultFileSystem disk;
  std::vector<std::string> bodies;
  RecoveryReport report;
  auto journal = opened(disk, {}, bodies, report);
  const NewRecord early{1, {}, "first"};
  must(journal->append({&early, 1}, {}));
  std::vector<Code> answers;
  disk.set_fault([&](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    if (op != FaultFileSystem::Op::sync) return std::nullopt;
    const NewRecord late{1, {}, "late"};
    const auto appended = journal->append({&late, 1}, {});
    EXPECT_FALSE(appended) << "it would never be written";
    if (!appended) answers.push_back(appended.error().code);
    return std::nullopt;
  });
  must(journal->close());
  disk.set_fault({});
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.front(), Code::unavailable);
  journal = opened(disk, {}, bodies, report);
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(bodies, std::vector<std::string>{"first"});
}

TEST(JournalHealth, SaysWhyNothingIsTakenAfterAFailedSync) {
  FaultFileSystem disk;
  std::vector<std::string> bodies;
  RecoveryReport report;
  auto journal = opened(disk, {}, bodies, report);
  EXPECT_TRUE(journal->health());
  const NewRecord record{1, {}, "first"};
  const auto first = must(journal->append({&record, 1}, {}));
  disk.set_fault([](FaultFileSystem::Op op, const std::string&) {
    return op == FaultFileSystem::Op::sync ? std::optional(Code::unavailable) : std::nullopt;
  });
  ASSERT_FALSE(journal->durable(first));
  disk.set_fault({});
  const auto health = journal->health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, Code::unavailable);
  EXPECT_NE(health.error().detail.find("read-only"), std::string::npos) << health.error().detail;
}

TEST(JournalHealth, SaysThatTheDiskIsFullUntilThereIsRoomAgain) {
  FaultFileSystem disk;
  std::vector<std::string> bodies;
  RecoveryReport report;
  JournalOptions options;
  options.segment_size = 16U << 10U;
  auto journal = opened(disk, options, bodies, report);
  disk.set_fault([](FaultFileSystem::Op op, const std::string&) {
    return op == FaultFileSystem::Op::open ? std::optional(Code::disk_full) : std::nullopt;
  });
  const std::string body(1000, 'x');
  const NewRecord record{1, {}, body};
  int taken = 0;
  while (journal->wait_for_room(false)) {
    ASSERT_TRUE(journal->health()) << "there was room after " << taken;
    must(journal->append({&record, 1}, {}));
    ASSERT_LT(++taken, 100);
  }
  const auto health = journal->health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, Code::disk_full);
  disk.set_fault({});
  must(journal->wait_for_room(false));
  EXPECT_TRUE(journal->health());
}

/// A journal whose first segment is full, and hardly anything in the second.
std::unique_ptr<Journal> in_the_second_segment(FaultFileSystem& disk) {
  std::vector<std::string> bodies;
  RecoveryReport report;
  JournalOptions options;
  options.segment_size = 16U << 10U;
  auto journal = opened(disk, options, bodies, report);
  const std::string body(1000, 'x');
  const NewRecord record{1, {}, body};
  while (journal->stats().active_segment == 1) {
    must(journal->wait_for_room(false));
    must(journal->durable(must(journal->append({&record, 1}, {}))));
  }
  return journal;
}

/// Appends until the end of the segment is near.
void nearly_fill(Journal& journal) {
  const std::string body(1000, 'x');
  const NewRecord record{1, {}, body};
  for (int i = 0; i < 13; ++i) must(journal.durable(must(journal.append({&record, 1}, {}))));
  EXPECT_EQ(journal.stats().active_segment, 2U);
}

TEST(JournalSpares, NoFileIsMadeWhileThereIsOneToUseAgain) {
  FaultFileSystem disk;
  const auto journal = in_the_second_segment(disk);
  must(journal->release(1));
  const auto before = must(disk.list());
  EXPECT_EQ(before.size(), 2U);
  nearly_fill(*journal);
  must(journal->wait_for_room(false));
  EXPECT_EQ(must(disk.list()), before);
}

TEST(JournalSpares, AFileToUseAgainEndsTheTroubleOfAFullDisk) {
  FaultFileSystem disk;
  const auto journal = in_the_second_segment(disk);
  disk.set_fault([](FaultFileSystem::Op op, const std::string& name) {
    const bool another = op == FaultFileSystem::Op::open && name.starts_with("spare-new");
    return another ? std::optional(Code::disk_full) : std::nullopt;
  });
  nearly_fill(*journal);
  const auto full = journal->wait_for_room(false);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::disk_full);
  EXPECT_FALSE(journal->health());
  must(journal->release(1));
  EXPECT_TRUE(journal->health());
  EXPECT_TRUE(journal->wait_for_room(false));
}

// Blocks that were never written are slow to sync: small groups find zeros there.
TEST(JournalZeros, AreWrittenAheadOfSmallGroupsOnly) {
  for (const bool small : {true, false}) {
    FaultFileSystem disk;
    std::vector<std::string> bodies;
    RecoveryReport report;
    JournalOptions options;
    options.segment_size = 4U << 20U;
    auto journal = opened(disk, options, bodies, report);
    const std::string body(small ? 100 : 100'000, 'x');
    const NewRecord record{1, {}, body};
    for (int i = 0; i < 20; ++i) must(journal->durable(must(journal->append({&record, 1}, {}))));
    EXPECT_LT(journal->stats().bytes_written, 20 * (body.size() + 200)) << "zeros do not count";
    EXPECT_EQ(disk.longest_write() > 200'000, small);
    disk.power_cut(3);
    journal = opened(disk, options, bodies, report);
    EXPECT_EQ(bodies.size(), 20U);
  }
}

// The disk works while the next group is copied, and need not wait for it afterwards.
TEST(JournalSync, WhoeverWaitsForTheNextHandsALargeGroupToTheKernelMeanwhile) {
  FaultFileSystem disk;
  std::vector<std::string> bodies;
  RecoveryReport report;
  auto journal = opened(disk, {}, bodies, report);
  std::promise<void> gate;
  const auto passes = gate.get_future().share();
  disk.set_fault([passes](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    if (op == FaultFileSystem::Op::sync) passes.wait();
    return std::nullopt;
  });
  const auto durable = [&journal](std::size_t size) {
    const std::string body(size, 'x');
    const NewRecord record{1, {}, body};
    must(journal->durable(must(journal->append({&record, 1}, {}))));
  };
  const auto written = [&] { return journal->stats().bytes_written; };
  auto first = std::async(std::launch::async, durable, 1000);
  EXPECT_TRUE(testing::eventually([&] { return written() > 1000; }));
  auto second = std::async(std::launch::async, durable, 40'000);
  EXPECT_TRUE(testing::eventually([&] { return written() > 41'000; })) << "before the sync ends";
  EXPECT_EQ(journal->stats().durable_sequence, 1U);
  disk.set_fault({});
  gate.set_value();
  first.get();
  second.get();
  EXPECT_EQ(journal->stats().durable_sequence, 3U);
  journal.reset();
  journal = opened(disk, {}, bodies, report);
  EXPECT_EQ(bodies.size(), 2U);
}

TEST(JournalLimits, WhoAppendsFasterThanTheDiskSyncsWaitsInsteadOfFillingTheMemory) {
  FaultFileSystem disk;
  JournalOptions options;
  options.segment_size = 4U << 20U;
  options.backlog_limit = 64U << 10U;
  std::vector<std::string> bodies;
  RecoveryReport report;
  auto journal = opened(disk, options, bodies, report);
  std::promise<void> gate;
  const auto opening = gate.get_future().share();
  disk.set_fault([opening](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    if (op == FaultFileSystem::Op::sync) opening.wait();
    return std::nullopt;
  });
  constexpr std::size_t size = 8U << 10U;
  constexpr std::size_t callers = 4;
  constexpr std::size_t each_sends = 40;
  std::atomic<std::size_t> appended = 0;
  std::vector<std::future<void>> all;
  for (std::size_t i = 0; i < callers; ++i) {
    all.push_back(std::async(std::launch::async, [&] {
      const std::string body(size, 'x');
      const NewRecord record{1, {}, body};
      for (std::size_t sent = 0; sent < each_sends; ++sent) {
        must(journal->wait_for_room(false));
        must(journal->append({&record, 1}, {}));
        appended += size;
      }
    }));
  }
  EXPECT_TRUE(testing::eventually([&] { return appended >= options.backlog_limit; }));
  for (auto& each : all) {
    EXPECT_EQ(each.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  }
  EXPECT_LE(appended, options.backlog_limit + 2 * callers * size);
  gate.set_value();
  for (auto& each : all) each.get();
  EXPECT_EQ(appended, callers * each_sends * size);
  disk.set_fault({});
}

}  // namespace
}  // namespace dlo
