// What a record holds is chosen by whoever sends it: it must never be taken for a part of the
// journal, also when its segment is used again.
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>

#include "unit/journal/journal_fixture.h"

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"
#include "dlo/journal/inspection.h"

namespace dlo {
namespace {

namespace format = journal_format;
using testing::must;

/// A group that is valid in whichever segment has this epoch.
std::string forged_group(std::uint64_t epoch) {
  std::string bytes(format::group_header_size + format::record_header_size, '\0');
  format::GroupHeader header;
  header.epoch = epoch;
  header.group = header.first_sequence = 1'000'000'000;
  header.records = 1;
  header.size = format::record_header_size;
  const format::RecordHeader record{0, format::record_crc(0, header.first_sequence, 6), 6};
  format::encode(record, bytes.data() + format::group_header_size);
  format::encode(header, bytes.data());
  const auto records = crc32c(0, std::string_view(bytes).substr(format::group_header_size));
  header.crc = format::group_crc(records, bytes);
  format::encode(header, bytes.data());
  bytes.resize(format::aligned(bytes.size()));
  return bytes;
}

/// Forged groups of the next segments, one of each wherever its record may come to lie.
std::string forgery() {
  std::string body;
  for (std::uint64_t epoch = 2; epoch < 6; ++epoch) {
    for (std::size_t at = 0; at < format::group_alignment; ++at) {
      while (body.size() % format::group_alignment != at) body.push_back('\0');
      body += forged_group(epoch);
    }
  }
  return body;
}

class ForgedTest : public JournalTest {
 protected:
  JournalOptions recycling(bool nonces) {
    JournalOptions options;
    options.segment_size = 16U << 10U;
    options.prepare_ahead = false;
    if (nonces) options.nonce = [this] { return 0x9E3779B9U * ++drawn_; };
    return options;
  }
  /// Segments 1 and 2 are full of forgeries, and 1 is spare.
  void fill(bool nonces) {
    disk_ = std::make_unique<testing::FaultFileSystem>();
    open(recycling(nonces));
    const std::string body = forgery();
    while (journal_->stats().active_segment < 3) append_durable(body);
    must(journal_->release(1));
  }
  format::SegmentHeader must_header(const std::string& name) {
    const auto header = format::decode_segment(disk_->bytes(name).substr(0, 64));
    if (!header) throw std::runtime_error(name + " has no header");
    return *header;
  }
  std::uint32_t drawn_ = 0;
};

TEST_F(ForgedTest, BytesOfARecordInAnEarlierLifeOfASegmentAreNoGroups) {
  for (const bool nonces : {false, true}) {
    fill(nonces);
    const std::string body = forgery();
    while (journal_->stats().active_segment < 4) append_durable(body);  // which was 1
    append_durable("precious");
    journal_.reset();
    const auto opened = try_open(recycling(nonces));
    ASSERT_EQ(opened.has_value(), nonces) << "without one these are good forgeries";
    if (!nonces) continue;
    EXPECT_EQ(bodies().back(), "precious");
    EXPECT_EQ(report_.cut_bytes, 0U);
  }
}

TEST_F(ForgedTest, NorIsASegmentTakenForDamagedThatWasReadiedAndNeverWritten) {
  fill(true);
  append_durable("precious");
  const std::string spare = disk_->bytes("spare-000000000001.seg");
  journal_.reset();  // which removes it
  must(must(disk_->open("000000000004.seg", OpenMode::create))->write_at(0, spare));
  for (const bool blank : {false, true}) {  // before and after its header is taken away
    if (blank) disk_->bytes("000000000004.seg").replace(0, 64, 64, '\0');
    Inspection inspection(*disk_);
    must(inspection.walk([](const Entry&) { return Result<void>{}; }));
    EXPECT_TRUE(inspection.damages.empty()) << inspection.damages.front().what;
  }
  must(try_open(recycling(true)));
  EXPECT_EQ(bodies().back(), "precious");
}

TEST_F(ForgedTest, ADamagedHeaderTakesNothingButItselfThoughItHeldTheNonce) {
  open(recycling(true));
  append_durable("first");
  append_durable("second");
  journal_.reset();
  for (std::size_t at = 0; at < 48; ++at) {
    SCOPED_TRACE(at);
    disk_->bytes("000000000001.seg")[at] ^= 4;
    std::vector<std::string> seen;
    Inspection inspection(*disk_);
    must(inspection.walk([&](const Entry& entry) {
      seen.emplace_back(entry.body);
      return Result<void>{};
    }));
    EXPECT_EQ(inspection.damages.size(), 1U);
    EXPECT_EQ(seen, (std::vector<std::string>{"first", "second"}));
    EXPECT_NE(inspection.epoch_of(1), 1U);
    disk_->bytes("000000000001.seg")[at] ^= 4;
  }
}

TEST_F(ForgedTest, AJournalOfVersion1IsReadAndGoneOnWith) {
  open(recycling(false));
  append_durable("old");
  journal_.reset();
  auto& bytes = disk_->bytes("000000000001.seg");
  bytes[8] = 1;
  const auto crc = crc32c(0, std::string_view(bytes).substr(16, 48));
  std::memcpy(bytes.data() + 12, &crc, sizeof crc);
  EXPECT_EQ(must_header("000000000001.seg").version, 1U);
  open(recycling(true));
  EXPECT_EQ(bodies(), std::vector<std::string>{"old"});
  append_durable("new");
  must(journal_->close());
  EXPECT_EQ(must_header("000000000002.seg").version, 2U);
  EXPECT_NE(must_header("000000000002.seg").nonce, 0U);
  open(recycling(true));
  EXPECT_EQ(bodies(), (std::vector<std::string>{"old", "new"}));
}

}  // namespace
}  // namespace dlo
