// What a damaged group still holds: every record whose own bytes are whole.
#include "dlo/journal/salvage.h"

#include <set>

#include "unit/journal/journal_fixture.h"

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"
#include "dlo/journal/inspection.h"

namespace dlo {
namespace {

using testing::FaultFileSystem;
using testing::must;

class SalvageTest : public JournalTest {
 protected:
  /// A list of records in one group, between two others or, if asked for, the last.
  void fill(bool last) {
    open();
    append_durable("first");
    for (int i = 0; i < 24; ++i) texts_.push_back(body(i));
    std::vector<NewRecord> list;
    for (const std::string& text : texts_) list.push_back({1, {}, text});
    places_.resize(list.size());
    must(journal_->durable(must(journal_->append(list, places_))));
    if (!last) append_durable("later");
    if (!last) append_durable("at last");
    journal_.reset();
    whole_ = disk_->bytes(name_);
    begin_ = places_.front().offset - 48;
    end_ = end_of(places_.size() - 1);
  }

  /// Nothing, text, zeros, and what looks like the beginning of a record.
  static std::string body(int i) {
    if (i % 6 == 1) return {};
    if (i % 6 == 2) return std::string(static_cast<std::size_t>(i), '\0');
    if (i % 6 == 3) return std::string("\x09\0\0\0....\x01\x09\0\0\0....\x01", 18);
    return "record " + std::to_string(i) + std::string(static_cast<std::size_t>(i), '.');
  }
  [[nodiscard]] std::size_t end_of(std::size_t i) const {
    return places_[i].offset + 9 + texts_[i].size();
  }

  /// The records of the group that are found though these bytes are not what they were.
  std::multiset<std::string> found_without(std::size_t from, std::size_t size) {
    std::string& bytes = disk_->bytes(name_);
    bytes = whole_;
    for (auto at = from; at < from + size; ++at) bytes[at] = static_cast<char>(bytes[at] ^ 0x5A);
    std::multiset<std::string> found;
    const auto take = [&](const Entry& entry) {
      if (entry.sequence > 1 && entry.sequence <= 1 + texts_.size()) {
        EXPECT_EQ(entry.body, texts_[entry.sequence - 2]) << entry.sequence;
        found.insert(std::string(entry.body));
      }
    };
    Inspection inspection(*disk_);
    inspection.on_unfinished = take;
    must(inspection.walk([&](const Entry& entry) {
      take(entry);
      return Result<void>{};
    }));
    return found;
  }

  const std::string name_ = "000000000001.seg";
  std::vector<std::string> texts_;
  std::vector<Location> places_;
  std::string whole_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

TEST_F(SalvageTest, EveryRecordIsFoundThatIsWholeItself) {
  fill(false);
  for (const std::size_t size : {1U, 12U, 40U, 200U}) {
    for (auto at = begin_; at + size <= end_; ++at) {
      std::multiset<std::string> expected;
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        const bool touched = at < end_of(i) && at + size > places_[i].offset;
        if (!touched) expected.insert(texts_[i]);
      }
      const auto found = found_without(at, size);
      for (const std::string& each : expected) {
        ASSERT_GE(found.count(each), expected.count(each))
            << each << ", " << size << " bytes at " << at - begin_;
      }
    }
  }
}

TEST_F(SalvageTest, TheLastGroupIsShownThoughItWillBeCutOff) {
  fill(true);
  const auto third = places_[3].offset;
  const auto found = found_without(third, 9);
  EXPECT_EQ(found.size(), texts_.size() - 1);
  RecoveryReport report;
  const auto opened = must(Journal::open(
      *disk_, small_segments(), {}, [](const Entry&) { return Result<void>{}; }, report));
  EXPECT_EQ(report.records, 1U) << "what was shown was replayed";
  EXPECT_GT(report.cut_bytes, 0U);
}

// A recycled segment is searched after every unclean stop, and what lies in it is up to senders.
TEST(ASearchForRecordsWithoutAHeader, ChecksNoMoreThanItMayWhateverLiesThere) {
  std::string text;
  while (text.size() < 16U << 20U) {
    for (const char letter : std::string("the quick brown fox jumps over the lazy dog ")) {
      text += {letter, '\0'};
    }
  }
  const auto found = goes_on_without_header(text, 7);
  EXPECT_EQ(found.end, 0U);
  EXPECT_GT(found.checked, 0U);
  EXPECT_LE(found.checked, most_checked);
}

// ... and one that is short is found though long ones were tried in vain before.
TEST(ASearchForRecordsWithoutAHeader, FindsAShortRecordBehindTextThatLooksLikeLongOnes) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += {static_cast<char>('a' + i % 26), '\0'};
  const auto at = bytes.size();
  const std::string body = "a record";
  char header[journal_format::record_header_size];
  journal_format::encode(
      journal_format::RecordHeader{static_cast<std::uint32_t>(body.size()),
                                   journal_format::record_crc(crc32c(0, body), 9, 3), 3},
      header);
  bytes.append(header, sizeof header).append(body);
  const auto end = bytes.size();
  while (bytes.size() < 16U << 20U) bytes += {'x', '\0'};
  ASSERT_GT(end, at);
  EXPECT_EQ(goes_on_without_header(bytes, 7).end, end);
}

}  // namespace
}  // namespace dlo
