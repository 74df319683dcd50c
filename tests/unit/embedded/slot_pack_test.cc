// Slots in a checkpoint: few bytes, and the same slots again.
#include "dlo/broker/embedded/slot_pack.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/must.h"
#include "unit/embedded/shop.h"

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/checkpoint_chunks.h"
#include "dlo/broker/embedded/queue_check.h"
#include "dlo/broker/embedded/repair.h"
#include "dlo/journal/crc32c.h"

namespace dlo::embedded {
namespace {

using namespace std::chrono_literals;
using testing::must;
using testing::noon;
using Block = std::vector<Slot>;

Block empty_block() {
  return Block(Slots::block_size);
}

/// Messages of 1 KB as they come in lists of 64, a few milliseconds apart.
Block published() {
  Block block = empty_block();
  std::uint32_t offset = 64;
  for (SlotNumber i = 0; i < Slots::block_size; ++i) {
    Slot& slot = block[i];
    offset += 1057 + (i % 64 == 0 ? 60 : 0);
    slot.set_record(7, offset, i);
    slot.size = 1027;
    slot.older = i - 1;
    slot.newer = i + 1;
    slot.place = Place::ready;
    slot.set_time(pack(noon) + i / 64 * 3);
  }
  return block;
}

Block random_block(std::uint64_t seed, std::size_t every) {
  std::mt19937_64 random(seed);
  Block block = published();
  for (Slot& slot : block) {
    if (random() % every != 0) continue;
    std::uint32_t words[sizeof(Slot) / 4];
    std::memcpy(words, static_cast<const void*>(&slot), sizeof slot);
    words[random() % std::size(words)] = static_cast<std::uint32_t>(random());
    std::memcpy(static_cast<void*>(&slot), words, sizeof slot);
  }
  return block;
}

bool same(const Block& a, const Block& b) {
  return std::memcmp(static_cast<const void*>(a.data()), b.data(), a.size() * sizeof(Slot)) == 0;
}

std::string packed(const Block& block) {
  std::string bytes;
  pack_slots(block.data(), bytes);
  return bytes;
}

TEST(PackedSlots, AreTheSameWhenTheyAreUnpacked) {
  std::vector<Block> blocks = {empty_block(), published()};
  for (std::uint64_t seed = 1; seed < 40; ++seed)
    blocks.push_back(random_block(seed, 1 + seed % 9));
  for (const Block& block : blocks) {
    Block again = random_block(99, 1);
    ASSERT_TRUE(unpack_slots(packed(block), again.data()));
    EXPECT_TRUE(same(block, again));
  }
}

TEST(PackedSlots, OfMessagesThatCameOneAfterTheOtherTakeLessThanAByteEach) {
  EXPECT_LT(packed(published()).size(), Slots::block_size);
  EXPECT_LT(packed(empty_block()).size(), 40U);
}

TEST(PackedSlots, ThatAreCutShortOrGoOnAreNoBlock) {
  const std::string bytes = packed(random_block(3, 20));
  Block into = empty_block();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(unpack_slots(std::string_view(bytes).substr(0, size), into.data())) << size;
  }
  EXPECT_FALSE(unpack_slots(bytes + '\2', into.data()));
  EXPECT_FALSE(unpack_slots(std::string("\0", 1), into.data())) << "a run of nobody";
  EXPECT_FALSE(unpack_slots("\xFE\xFF\xFF\xFF\x7F", into.data())) << "a run beyond the block";
  EXPECT_TRUE(unpack_slots("\x03\x02\xFE\x0F", into.data()));
  EXPECT_FALSE(unpack_slots("\x81\x08\xFE\x0F", into.data())) << "a word that slots do not have";
}

/// The checkpoint as it was written before somebody could set the clock; 4: before blocks were
/// packed.
std::string as_version(char version, const std::string& bytes) {
  std::string out = std::string("DLOQCKP") + version;
  std::size_t packed_blocks = 0;
  for (std::size_t at = out.size(); at < bytes.size();) {
    ByteReader head(std::string_view(bytes).substr(at, 9));
    auto kind = head.u8();
    const auto size = head.u32();
    std::string content = bytes.substr(at + 9, size);
    at += 9 + size;
    if (kind == 8 && version == '4') {
      Block block = empty_block();
      EXPECT_TRUE(unpack_slots(content, block.data()));
      content.assign(reinterpret_cast<const char*>(block.data()), block.size() * sizeof(Slot));
      kind = 3;
      ++packed_blocks;
    }
    if (kind == 1) content.resize(content.size() - 8);  // nobody had set the clock
    if (kind == 4) content.clear();                     // nor was the version said at the end
    ByteWriter chunk(out);
    chunk.u8(kind);
    chunk.u32(static_cast<std::uint32_t>(content.size()));
    const char type = static_cast<char>(kind);
    chunk.u32(crc32c(crc32c(0, {&type, 1}), content));
    out += content;
  }
  EXPECT_EQ(packed_blocks > 0, version == '4');
  return out;
}

/// The checkpoint with its blocks changed, and checksums that hold.
std::string with_blocks(const std::string& bytes, const std::function<void(Block&)>& change) {
  std::string out = bytes.substr(0, 8);
  for (std::size_t at = out.size(); at < bytes.size();) {
    ByteReader head(std::string_view(bytes).substr(at, 9));
    auto kind = head.u8();
    const auto size = head.u32();
    std::string content = bytes.substr(at + 9, size);
    at += 9 + size;
    if (kind == 8) {
      Block block = empty_block();
      EXPECT_TRUE(unpack_slots(content, block.data()));
      change(block);
      content.assign(reinterpret_cast<const char*>(block.data()), block.size() * sizeof(Slot));
      kind = 3;
    }
    ByteWriter chunk(out);
    chunk.u8(kind);
    chunk.u32(static_cast<std::uint32_t>(content.size()));
    const char type = static_cast<char>(kind);
    chunk.u32(crc32c(crc32c(0, {&type, 1}), content));
    out += content;
  }
  return out;
}

// Nobody's disk does that; whoever writes it by hand is told, and not by a crash.
TEST(Checkpoint, WhoseSlotsNameSlotsThatAreNotThereIsDamaged) {
  testing::Shop shop;
  shop.open();
  for (const char* id : {"a", "b", "c"}) shop.publish(id);
  shop.close();
  const std::string whole = shop.disk->bytes(checkpoint_format::file_name);
  const std::vector<std::function<void(Block&)>> changes = {
      [](Block&) {},
      [](Block& block) { block[1].older = 5'000'000; },
      [](Block& block) { block[1].newer = 700; },
      [](Block& block) { block[0].place = Place::free; },
      [](Block& block) { block[1].place = Place::held, block[1].next = 5'000'000; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    shop.disk->bytes(checkpoint_format::file_name) = with_blocks(whole, changes[i]);
    Holdings holdings;
    const auto loaded = load_checkpoint(*shop.disk, holdings);
    ASSERT_EQ(loaded.has_value(), i == 0);
    if (i > 0) {
      EXPECT_EQ(loaded.error().code, Code::corrupt);
    }
  }
}

TEST(Checkpoint, OfAnEarlierVersionIsStillRead) {
  for (const char version : {'4', '6'}) {
    testing::Shop shop;
    shop.open();
    std::vector<std::string> ids;
    for (int i = 0; i < 3000; ++i) {
      ids.push_back("m" + std::to_string(i));
      shop.publish(ids.back());
    }
    shop.close();
    std::string& file = shop.disk->bytes(checkpoint_format::file_name);
    EXPECT_LT(file.size(), ids.size() * 12) << "messages sent one by one";
    file = as_version(version, file);
    EXPECT_EQ(file.size() > ids.size() * sizeof(Slot), version == '4') << "packed";
    shop.open();
    EXPECT_EQ(shop.take_ids(5000), ids) << version;
  }
}

TEST(Checkpoint, OfALaterVersionIsNotCalledDamaged) {
  testing::Shop shop;
  shop.open();
  shop.publish("m");
  shop.close();
  shop.disk->bytes(checkpoint_format::file_name)[7] = '8';
  const auto error = shop.try_open(testing::noon);
  ASSERT_TRUE(error);
  EXPECT_NE(error->detail.find("A newer dlo has written it"), std::string::npos) << error->detail;
  EXPECT_EQ(error->detail.find("damaged"), std::string::npos) << error->detail;
}

TEST(Checkpoint, OfALaterVersionIsNotReplacedByARepair) {
  testing::Shop shop;
  shop.open();
  shop.publish("m");
  shop.close();
  shop.disk->bytes(checkpoint_format::file_name)[7] = '8';
  std::map<std::string, std::string> before;
  for (const auto& name : must(shop.disk->list())) before[name] = shop.disk->bytes(name);
  const auto repair = repair_queues(*shop.disk, testing::noon, true);
  ASSERT_FALSE(repair);
  EXPECT_EQ(repair.error().code, Code::refused);
  std::map<std::string, std::string> after;
  for (const auto& name : must(shop.disk->list())) after[name] = shop.disk->bytes(name);
  EXPECT_EQ(after, before);
  const auto check = check_queues(*shop.disk);
  ASSERT_FALSE(check) << "whose advice would be to repair it";
  EXPECT_NE(check.error().detail.find("nothing to repair"), std::string::npos);
  int messages = 0;
  must(dump_queues(*shop.disk, [&](const DumpedRecord& each) { messages += each.there; }));
  EXPECT_EQ(messages, 1);
}

}  // namespace
}  // namespace dlo::embedded
