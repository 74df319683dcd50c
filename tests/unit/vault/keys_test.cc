#include "dlo/vault/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace dlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KeyDraw draw(std::uint8_t seed) {
  KeyDraw drawn;
  drawn.id.fill(seed);
  drawn.secret.fill(static_cast<std::uint8_t>(seed + 1));
  drawn.nonce.fill(static_cast<std::uint8_t>(seed + 2));
  return drawn;
}
const TimePoint noon{Millis{1'750'000'000'000}};

TEST(KeyFile, WhatIsWrittenReadsBackInOrder) {
  const auto ring = parse_key_file("# of the office in Bremen\n\n" + key_line(master_key(draw(1))) +
                                   "  " + key_line(master_key(draw(2))));
  ASSERT_TRUE(ring) << ring.error().detail;
  ASSERT_EQ(ring->keys.size(), 2U);
  EXPECT_EQ(to_string(ring->keys.front().id), "0101010101010101");
  EXPECT_EQ(ring->keys.back().secret, draw(2).secret);
}

struct BadFile {
  const char* name;
  std::string text;
  const char* says;
};
void PrintTo(const BadFile& row, std::ostream* out) {
  *out << row.name;
}
class BadKeyFile : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadKeyFile, IsRefusedWithItsLineAndWithoutTheSecret) {
  const auto ring = parse_key_file(GetParam().text);
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().code, Code::invalid_argument);
  EXPECT_THAT(ring.error().detail, HasSubstr(GetParam().says));
  EXPECT_THAT(ring.error().detail, Not(HasSubstr("c2VjcmV0")));
}
INSTANTIATE_TEST_SUITE_P(
    All, BadKeyFile,
    ::testing::ValuesIn<BadFile>(
        {{"Empty", "", "holds no key"},
         {"OnlyComments", "# nothing\n", "holds no key"},
         {"NoId", "c2VjcmV0\n", "Line 1"},
         {"ShortKey", "# x\n0101010101010101 c2VjcmV0\n", "Line 2"},
         {"NoKey", "0101010101010101\n", "Line 1"},
         {"More", "0101010101010101 " + std::string(43, 'A') + "= c2VjcmV0\n", "Line 1"},
         {"Twice", key_line(master_key(draw(1))) + key_line(master_key(draw(1))), "earlier"}}),
    [](const auto& row) { return row.param.name; });

TEST(DataKey, ComesBackThroughItsText) {
  const KeyRing ring{{master_key(draw(1))}};
  const auto key = new_data_key(ring.keys.back(), 7, noon, draw(10));
  ASSERT_TRUE(key);
  EXPECT_EQ(parse_wrapped_key(to_text(*key)), *key);
  EXPECT_EQ(*unwrap(ring, *key), draw(10).secret);
  EXPECT_THAT(key->bytes, Not(HasSubstr(view_of(draw(10).secret))));
}

TEST(DataKey, WithoutItsMasterKeyIsRefusedByName) {
  const auto key = new_data_key(master_key(draw(1)), 1, noon, draw(10));
  ASSERT_TRUE(key);
  const auto secret = unwrap(KeyRing{{master_key(draw(2))}}, *key);
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().code, Code::refused);
  EXPECT_THAT(secret.error().detail, HasSubstr("0101010101010101"));
  EXPECT_THAT(secret.error().detail, HasSubstr("only 0202020202020202"));
  EXPECT_THAT(secret.error().detail, HasSubstr("back into the key file"));
}

TEST(DataKey, AnyChangedByteIsNoticed) {
  const KeyRing ring{{master_key(draw(1))}};
  const auto key = new_data_key(ring.keys.back(), 1, noon, draw(10));
  ASSERT_TRUE(key);
  for (std::size_t i = 0; i < key->bytes.size(); ++i) {
    WrappedKey changed = *key;
    changed.bytes[i] = static_cast<char>(changed.bytes[i] ^ 1);
    const auto secret = unwrap(ring, changed);
    ASSERT_FALSE(secret) << i;
    EXPECT_EQ(secret.error().code, Code::corrupt);
  }
  WrappedKey swapped = *key;
  swapped.id = KeyId{5};
  EXPECT_FALSE(unwrap(ring, swapped));
  WrappedKey promoted = *key;
  promoted.serial = 2;
  EXPECT_FALSE(unwrap(ring, promoted));
}

TEST(DataKey, RewrappedItNeedsOnlyTheNewestMasterKey) {
  const KeyRing both{{master_key(draw(1)), master_key(draw(2))}};
  const auto key = new_data_key(both.keys.front(), 1, noon, draw(10));
  ASSERT_TRUE(key);
  const auto moved = rewrap(both, *key, draw(20));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->id, key->id);
  EXPECT_EQ(*unwrap(KeyRing{{master_key(draw(2))}}, *moved), draw(10).secret);
  EXPECT_FALSE(unwrap(KeyRing{{master_key(draw(1))}}, *moved));
}

TEST(Keys, AreDrawnDifferently) {
  EXPECT_NE(draw_key().secret, draw_key().secret);
  EXPECT_NE(draw_key().id, draw_key().id);
}

}  // namespace
}  // namespace dlo
