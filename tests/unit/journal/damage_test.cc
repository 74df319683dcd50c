// Bytes that changed, and writes that were interrupted.
#include <cstring>

#include "unit/journal/journal_fixture.h"

#include "dlo/journal/crc32c.h"
#include "dlo/journal/inspection.h"

namespace dlo {
namespace {

using testing::FaultFileSystem;
using testing::must;

TEST_F(JournalTest, EveryFlippedBitOfASealedJournalIsDetected) {
  open();
  for (int i = 0; i < 40; ++i) append_durable("record " + std::to_string(i * 1000));
  must(journal_->close());
  journal_.reset();
  for (const std::string& name : must(disk_->list())) {
    const std::string original = disk_->bytes(name);
    for (std::size_t at = 0; at < original.size(); ++at) {
      FaultFileSystem copy;
      for (const std::string& each : must(disk_->list())) {
        must(must(copy.open(each, OpenMode::create))->write_at(0, disk_->bytes(each)));
      }
      copy.bytes(name)[at] = static_cast<char>(copy.bytes(name)[at] ^ (1 << (at % 8)));
      RecoveryReport report;
      const auto opened = Journal::open(
          copy, small_segments(), {}, [](const Entry&) { return Result<void>(); }, report);
      ASSERT_FALSE(opened) << name << " byte " << at;
      const auto code = opened.error().code;
      EXPECT_TRUE(code == Code::corrupt || code == Code::refused) << name << " byte " << at;
    }
  }
}

TEST_F(JournalTest, AStopThatWasInterruptedWhileItSealedIsNoDamage) {
  open();
  append_durable("first");
  const std::string before = disk_->bytes(must(disk_->list()).front());
  must(journal_->close());
  journal_.reset();
  const std::string name = must(disk_->list()).front();
  const std::string whole = disk_->bytes(name);
  ASSERT_EQ(whole.size() % 512, 64U) << "the second seal lies in one sector";
  // Whatever the disk has of the two: the file as long as it was, or not; a part of the first seal;
  // nothing or zeros where the second belongs.
  const auto data = before.find_last_not_of('\0') / 16 * 16 + 16;
  for (const std::size_t kept : {data, data + 10, data + 57, whole.size() - 64}) {
    for (const std::size_t zeros : {std::size_t{0}, whole.size() - kept, std::size_t{4096}}) {
      SCOPED_TRACE(std::to_string(kept) + " and zeros " + std::to_string(zeros));
      disk_->bytes(name) = whole.substr(0, kept) + std::string(zeros, '\0');
      open();
      EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
      journal_.reset();
      disk_ = std::make_unique<FaultFileSystem>();
      must(must(disk_->open(name, OpenMode::create))->write_at(0, whole));
    }
  }
}

TEST_F(JournalTest, AJournalWithOneSealIsClean) {  // as it was written once
  open();
  append_durable("first");
  must(journal_->close());
  journal_.reset();
  std::string& bytes = disk_->bytes(must(disk_->list()).front());
  bytes.resize(bytes.size() - 64);
  open();
  EXPECT_TRUE(report_.clean);
  EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
}

TEST_F(JournalTest, DamageBeforeSomethingSyncedIsCorruptionWithFileAndOffset) {
  open();
  append_durable("first");
  append_durable("second");
  append_durable("third");
  journal_.reset();
  auto& bytes = disk_->bytes(must(disk_->list()).front());
  bytes[bytes.find("second")] ^= 1;
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_NE(opened.error().detail.find("000000000001.seg at byte"), std::string::npos)
      << opened.error().detail;
}

TEST_F(JournalTest, DamageInTheLastGroupOfAnUncleanStopIsCutAndReported) {
  open();
  append_durable("first");
  append_durable("second");
  journal_.reset();
  auto& bytes = disk_->bytes(must(disk_->list()).front());
  bytes[bytes.find("second")] ^= 1;
  open();
  EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
  EXPECT_EQ(report_.cut_bytes, 48U + 9U + 6U);
  append_durable("third");
  open();
  EXPECT_EQ(bodies(), (std::vector<std::string>{"first", "third"}));
}

// As a power cut loses unsynced pages out of order, and as damage looks that came later.
TEST_F(JournalTest, WholeGroupsBehindADamagedOneThatWasNotSyncedAreCutWithItAndCounted) {
  open();
  append_durable("first");
  for (const char* body : {"lost", "whole", "whole as well"}) must(journal_->written(append(body)));
  journal_.reset();
  const std::string name = must(disk_->list()).front();
  auto& bytes = disk_->bytes(name);
  const auto begin = bytes.find("lost") - 48 - 9;
  const auto end = bytes.find("whole as well") + 13;
  bytes[bytes.find("lost")] ^= 1;
  Inspection inspection(*disk_);
  must(inspection.walk([](const Entry&) { return Result<void>{}; }));
  EXPECT_TRUE(inspection.damages.empty());
  EXPECT_EQ(inspection.unfinished, end - begin);
  EXPECT_EQ(inspection.unfinished_records, 2U);
  open();
  EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
  EXPECT_EQ(report_.cut_bytes, end - begin);
  EXPECT_EQ(report_.cut_records, 2U);
  EXPECT_NE(report_.cut_copy, "");
}

TEST_F(JournalTest, WhatIsCutOffIsKeptAndReportedWhereverItWasDamaged) {
  open();
  append_durable("first");
  append_durable("second");
  journal_.reset();
  const std::string name = must(disk_->list()).front();
  const std::string whole = disk_->bytes(name);
  const auto begin = whole.find("second") - 48 - 9;
  const auto end = begin + 48 + 9 + 6;
  for (std::size_t at = begin; at < end; ++at) {
    SCOPED_TRACE(at - begin);
    journal_.reset();
    disk_ = std::make_unique<FaultFileSystem>();
    must(must(disk_->open(name, OpenMode::create))->write_at(0, whole));
    disk_->bytes(name)[at] ^= 1;
    const std::string damaged = disk_->bytes(name).substr(begin, end - begin);
    open();
    EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
    EXPECT_GT(report_.cut_bytes, 0U);
    EXPECT_EQ(report_.cut_offset, begin);
    const auto copy = report_.cut_copy.find("cut-" + name);
    ASSERT_NE(copy, std::string::npos) << report_.cut_copy;
    EXPECT_EQ(disk_->bytes(report_.cut_copy.substr(copy)), damaged);
  }
}

// A sector that is lost, or its beginning: the header of the group, or that and the first records.
TEST_F(JournalTest, WhatIsCutOffIsKeptAndReportedThoughTheHeaderOfItsGroupIsGone) {
  for (const std::size_t zeroed : {20U, 48U, 60U, 400U}) {
    SCOPED_TRACE(zeroed);
    journal_.reset();
    disk_ = std::make_unique<FaultFileSystem>();
    open();
    append_durable("first");
    std::vector<std::string> texts;
    std::vector<NewRecord> list;
    for (int i = 0; i < 10; ++i) texts.push_back("record " + std::string(100, 'a'));
    for (const std::string& text : texts) list.push_back({1, {}, text});
    must(journal_->durable(must(journal_->append(list, {}))));
    journal_.reset();
    const std::string name = must(disk_->list()).front();
    std::string& bytes = disk_->bytes(name);
    const auto begin = bytes.find("record") - 48 - 9;
    bytes.replace(begin, zeroed, zeroed, '\0');
    Inspection inspection(*disk_);
    must(inspection.walk([](const Entry&) { return Result<void>{}; }, {}));
    EXPECT_GT(inspection.unfinished, 0U);
    open();
    EXPECT_EQ(bodies(), std::vector<std::string>{"first"});
    EXPECT_EQ(report_.cut_offset, begin);
    EXPECT_GE(report_.cut_bytes, 48U + 9U + texts[0].size());
    const auto copy = report_.cut_copy.find("cut-" + name);
    ASSERT_NE(copy, std::string::npos) << report_.cut_copy;
    EXPECT_NE(disk_->bytes(report_.cut_copy.substr(copy)).find(texts[9]), std::string::npos);
  }
}

TEST_F(JournalTest, WhatARecycledSegmentStillHoldsIsNotToldAsCutOff) {
  auto options = small_segments();
  options.prepare_ahead = false;
  open(options);
  std::uint64_t last = 0;
  for (int i = 0; i < 200; ++i) last = append_durable(std::string(100, 'a'));
  for (int turn = 0; turn < 40; ++turn) {
    for (const auto number : journal_->stats().segment_numbers) {
      if (number < journal_->stats().active_segment) {
        must(journal_->release(static_cast<std::uint32_t>(number)));
      }
    }
    for (int i = 0; i < 17; ++i) last = append_durable(std::string(100, 'b'));
    const auto disk = std::make_unique<FaultFileSystem>();
    for (const std::string& name : must(disk_->list())) {
      must(must(disk->open(name, OpenMode::create))->write_at(0, disk_->bytes(name)));
    }
    RecoveryReport report;
    (void)must(
        Journal::open(*disk, options, {}, [](const Entry&) { return Result<void>{}; }, report));
    EXPECT_EQ(report.cut_bytes, 0U) << turn;
  }
  EXPECT_GT(last, 800U);
}

TEST_F(JournalTest, OfManyPiecesThatWereCutOffTheLastFewAreKept) {
  for (int i = 0; i < 10; ++i) {
    open();
    append_durable("kept");
    append_durable("damaged " + std::to_string(i));
    journal_.reset();
    for (const std::string& name : must(disk_->list())) {
      auto& bytes = disk_->bytes(name);
      const auto at = bytes.find("damaged");
      if (name.ends_with(".seg") && at != std::string::npos) bytes[at] ^= 1;
    }
  }
  open();
  std::vector<std::string> copies;
  for (const std::string& name : must(disk_->list())) {
    if (name.starts_with("cut-")) copies.push_back(disk_->bytes(name));
  }
  ASSERT_EQ(copies.size(), 4U);
  EXPECT_NE(copies.back().find("amaged 9"), std::string::npos);
}

TEST_F(JournalTest, AFutureFormatIsRefusedByWhoeverLooksAtIt) {
  open();
  append_durable("first");
  journal_.reset();
  auto& bytes = disk_->bytes(must(disk_->list()).front());
  bytes[8] = 9;
  const auto crc = crc32c(crc32c(0, std::string_view(bytes).substr(16, 48)), bytes.substr(8, 4));
  std::memcpy(bytes.data() + 12, &crc, sizeof crc);
  const auto opened = try_open();
  Inspection inspection(*disk_);
  const auto walked = inspection.walk([](const Entry&) { return Result<void>{}; });
  ASSERT_FALSE(opened);
  ASSERT_FALSE(walked);
  for (const Error& error : {opened.error(), walked.error()}) {
    EXPECT_EQ(error.code, Code::refused);
    EXPECT_NE(error.detail.find("version 9"), std::string::npos) << error.detail;
  }
}

TEST_F(JournalTest, AVersionThatWasDamagedIsDamageAndNoFutureFormat) {
  open();
  append_durable("first");
  journal_.reset();
  for (int bit = 0; bit < 8; ++bit) {
    SCOPED_TRACE(bit);
    auto& bytes = disk_->bytes(must(disk_->list()).front());
    bytes[8] = static_cast<char>(bytes[8] ^ (1 << bit));
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::corrupt) << opened.error().detail;
    Inspection inspection(*disk_);
    must(inspection.walk([](const Entry&) { return Result<void>{}; }));
    EXPECT_EQ(inspection.damages.size(), 1U);
    bytes[8] = static_cast<char>(bytes[8] ^ (1 << bit));
  }
}

}  // namespace
}  // namespace dlo
