#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "unit/journal/journal_fixture.h"

#include "dlo/journal/crc32c.h"

namespace dlo {
namespace {

using testing::FaultFileSystem;
using testing::must;

TEST(Crc32c, KnowsThePublishedVectorsAndBothWaysAgree) {
  EXPECT_EQ(crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8A9136AAU);
  std::mt19937 random(1);
  std::string bytes;
  for (int i = 0; i < 3000; ++i) {  // long enough for several sums at once
    ASSERT_EQ(crc32c(17, bytes), crc32c_portable(17, bytes)) << i;
    bytes.push_back(static_cast<char>(random()));
  }
  EXPECT_EQ(crc32c(crc32c(0, "1234"), "56789"), crc32c(0, "123456789"));
}

TEST_F(JournalTest, WhatWasDurableIsReadBackInOrderAfterTheProcessDies) {
  open();
  append_durable("one");
  append_durable("two");
  append_durable("");
  open();
  EXPECT_EQ(bodies(), (std::vector<std::string>{"one", "two", ""}));
  EXPECT_EQ(seen_[0].sequence, 1U);
  EXPECT_EQ(seen_[2].sequence, 3U);
  EXPECT_FALSE(report_.clean);
}

TEST_F(JournalTest, NobodyWaitsForARecordThatWasNeverAppended) {
  open();
  const auto last = append_durable("one");
  EXPECT_FALSE(journal_->durable(last + 1));
  EXPECT_FALSE(journal_->written(last + 1));
  append_durable("two");
  EXPECT_TRUE(journal_->durable(last + 1));
}

TEST_F(JournalTest, ACleanStopIsRecognised) {
  open();
  append_durable("one");
  must(journal_->close());
  open();
  EXPECT_TRUE(report_.clean);
  EXPECT_EQ(report_.cut_bytes, 0U);
  EXPECT_EQ(bodies(), std::vector<std::string>{"one"});
}

TEST_F(JournalTest, RecordsGoOnThroughManySegmentsAndManyLives) {
  std::vector<std::string> expected;
  for (int life = 0; life < 5; ++life) {
    open();
    for (int i = 0; i < 50; ++i) {
      expected.push_back(std::string(static_cast<std::size_t>(i * 7), 'a') + std::to_string(life));
      append_durable(expected.back());
    }
    if (life % 2 == 0) must(journal_->close());
  }
  open();
  EXPECT_EQ(bodies(), expected);
  EXPECT_GT(journal_->stats().segment_numbers.size(), 5U);
}

TEST_F(JournalTest, ARecordLargerThanASegmentIsKept) {
  open();
  const std::string large(100'000, 'x');
  append_durable("before");
  append_durable(large);
  append_durable("after");
  open();
  EXPECT_EQ(bodies(), (std::vector<std::string>{"before", large, "after"}));
}

TEST_F(JournalTest, ARecordIsReadBackByItsLocation) {
  open();
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back("body " + std::to_string(i * i));
  std::vector<Address> addresses;
  for (const std::string& text : texts) {
    const NewRecord record{3, "head ", text};
    Location where;
    const auto sequence = must(journal_->append({&record, 1}, {&where, 1}));
    must(journal_->written(sequence));
    addresses.push_back({where, sequence});
  }
  std::shuffle(addresses.begin(), addresses.end(), std::mt19937(3));
  std::size_t count = 0;
  journal_->read(addresses, [&](std::size_t i, const Result<std::string_view>& body) {
    EXPECT_EQ(must(body), "head " + texts[addresses[i].sequence - 1]);
    ++count;
  });
  EXPECT_EQ(count, addresses.size());
}

// What was not synced when the next group was written may be synced by the one after that.
TEST_F(JournalTest, DamageInAnUnsyncedGroupIsCorruptionOnceALaterGroupIsSynced) {
  open();
  must(journal_->written(append("written only")));
  must(journal_->written(append("written after it")));
  append_durable("synced");
  append_durable("and one that knows it");
  journal_.reset();
  auto& bytes = disk_->bytes(disk_->list().value().front());
  bytes[bytes.find("written only")] ^= 1;
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
}

TEST_F(JournalTest, ADamagedRecordIsNeverHandedOut) {
  open();
  const std::string body(100, 'q');
  const NewRecord record{1, {}, body};
  Location where;
  const auto sequence = must(journal_->append({&record, 1}, {&where, 1}));
  must(journal_->durable(sequence));
  disk_->bytes(disk_->list().value().front())[where.offset + 50] ^= 1;
  const Address address{where, sequence};
  Result<std::string> read = std::string("not asked");
  journal_->read({&address, 1}, [&](std::size_t, const Result<std::string_view>& got) {
    read = got ? Result<std::string>(std::string(*got)) : got.error();
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::corrupt);
  EXPECT_NE(read.error().detail.find(".seg at byte"), std::string::npos) << read.error().detail;
}

TEST_F(JournalTest, WhoeverWaitsSharesOneSync) {
  open();
  const auto before = disk_->syncs();
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) last = append("x");
  must(journal_->durable(last));
  EXPECT_LE(disk_->syncs() - before, 2U);
}

TEST_F(JournalTest, AfterAFailedSyncNothingIsAcknowledged) {
  open();
  append_durable("kept");
  disk_->set_fault([](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    if (op == FaultFileSystem::Op::sync) return Code::unavailable;
    return std::nullopt;
  });
  const auto lost = append("unknown");
  EXPECT_FALSE(journal_->durable(lost));
  disk_->set_fault(nullptr);  // the disk recovers, but what it holds is not known any more
  EXPECT_FALSE(journal_->durable(lost));
  const NewRecord record{1, {}, "more"};
  const auto again = journal_->append({&record, 1}, {});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().detail.find("read-only"), std::string::npos);
  open();
  ASSERT_FALSE(seen_.empty());
  EXPECT_EQ(seen_.front().body, "kept");
}

TEST_F(JournalTest, AFullDiskRefusesTheAppendAndChangesNothing) {
  JournalOptions options = small_segments();
  options.prepare_ahead = false;
  open(options);
  append_durable("kept");
  disk_->set_fault([](FaultFileSystem::Op op, const std::string&) -> std::optional<Code> {
    if (op == FaultFileSystem::Op::open) return Code::disk_full;
    return std::nullopt;
  });
  const std::string large(8000, 'x');
  const NewRecord record{1, {}, large};
  const auto refused = journal_->append({&record, 1}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::disk_full);
  disk_->set_fault(nullptr);
  append_durable("room again");
  open(options);
  EXPECT_EQ(bodies(), (std::vector<std::string>{"kept", "room again"}));
}

TEST_F(JournalTest, AppendingMoreThanASegmentHoldsSyncsNothing) {
  JournalOptions options = small_segments();
  options.background_at = 1U << 20U;
  open(options);
  append_durable("small");
  const auto before = disk_->syncs();
  const auto large = append(std::string(50'000, 'x'));
  EXPECT_EQ(disk_->syncs(), before);  // appenders hold locks of their own
  must(journal_->durable(large));
  EXPECT_GT(disk_->syncs(), before);
  open(options);
  EXPECT_EQ(bodies().back().size(), 50'000U);
}

TEST_F(JournalTest, MakesTheNextFileOnlyWhenHalfOfThisOneIsUsed) {
  open();
  append_durable("little");
  must(journal_->wait_for_room(false));
  EXPECT_EQ(must(disk_->list()).size(), 1U);
  append_durable(std::string(3800, 'x'));
  must(journal_->wait_for_room(false));  // the end is near: now there has to be another
  EXPECT_EQ(must(disk_->list()).size(), 2U);
}

TEST_F(JournalTest, ReplayCanBeginAtAPosition) {
  open();
  append_durable("old");
  append("in the state");
  const JournalPosition position = journal_->position();
  append_durable("new");
  journal_.reset();
  journal_ = must(try_open(small_segments(), position));
  EXPECT_EQ(bodies(), std::vector<std::string>{"new"});
  EXPECT_EQ(seen_[0].sequence, 3U);
}

TEST_F(JournalTest, AReleasedSegmentIsReusedAndTheRestStaysReadable) {
  open();
  for (int i = 0; i < 200; ++i) append_durable(std::string(100, 'a'));
  const auto before = journal_->stats();
  for (std::uint32_t segment = 1; segment < before.active_segment; ++segment) {
    must(journal_->release(segment));
  }
  for (int i = 0; i < 400; ++i) append_durable(std::string(100, 'b'));
  open();
  ASSERT_FALSE(seen_.empty());
  EXPECT_EQ(seen_.back().sequence, 600U);
  std::uint64_t sequence = seen_.front().sequence;
  for (const Seen& each : seen_) EXPECT_EQ(each.sequence, sequence++);
}

/// Random lists, some only written, some synced, then the power goes. Whatever was acknowledged
/// must be there, nothing may be there in part, and nothing out of order.
TEST_F(JournalTest, APowerCutLosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    journal_.reset();
    disk_ = std::make_unique<FaultFileSystem>();
    std::mt19937_64 random(seed);
    std::vector<std::string> placed;
    std::size_t acknowledged = 0;
    for (int life = 0; life < 3; ++life) {
      open();
      const auto found = bodies();
      ASSERT_GE(found.size(), acknowledged) << "seed " << seed;
      ASSERT_LE(found.size(), placed.size()) << "seed " << seed;
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], placed[i]);
      placed.resize(found.size());
      acknowledged = found.size();
      for (int i = 0; i < 40; ++i) {
        placed.push_back(std::to_string(seed) + ":" + std::to_string(placed.size()) +
                         std::string(random() % 900, 'z'));
        const auto sequence = append(placed.back());
        if (random() % 3 == 0) must(journal_->written(sequence));
        if (random() % 4 == 0) {
          must(journal_->durable(sequence));
          acknowledged = placed.size();
        }
      }
      journal_.reset();
      disk_->power_cut(random());
    }
  }
}

TEST_F(JournalTest, ManyThreadsAppendAndEveryAcknowledgedRecordIsThere) {
  JournalOptions options;
  options.segment_size = 64U << 10U;
  options.background_at = 2048;
  open(options);
  std::atomic<std::uint64_t> total{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 300; ++i) {
          const auto sequence = append(std::to_string(t) + "/" + std::to_string(i));
          if (i % 3 == 0) must(journal_->written(sequence));
          if (i % 2 == 0) must(journal_->durable(sequence));
          ++total;
        }
        must(journal_->durable(append("last")));
      });
    }
  }
  open(options);
  EXPECT_EQ(seen_.size(), total + 8);
  std::map<std::string, int> next;
  for (const Seen& each : seen_) {
    if (each.body == "last") continue;
    const auto slash = each.body.find('/');
    EXPECT_EQ(std::stoi(each.body.substr(slash + 1)), next[each.body.substr(0, slash)]++);
  }
}

}  // namespace
}  // namespace dlo
