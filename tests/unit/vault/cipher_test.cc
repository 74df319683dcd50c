#include "dlo/vault/cipher.h"

#include <gtest/gtest.h>
#include <string>

namespace dlo {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += "0123456789abcdef"[value >> 4U];
    out += "0123456789abcdef"[value & 15U];
  }
  return out;
}

struct HmacRow {
  const char* name;
  std::string key;
  std::string data;
  const char* digest;
};
void PrintTo(const HmacRow& row, std::ostream* out) {
  *out << row.name;
}
class HmacVectors : public ::testing::TestWithParam<HmacRow> {};

TEST_P(HmacVectors, HaveTheirPublishedDigest) {
  EXPECT_EQ(to_hex(Hmac(GetParam().key).plain(GetParam().data)), GetParam().digest);
}
INSTANTIATE_TEST_SUITE_P(
    Rfc4231, HmacVectors,
    ::testing::ValuesIn<HmacRow>(
        {{"Short", std::string(20, '\x0b'), "Hi There",
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
         {"Words", "Jefe", "what do ya want for nothing?",
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
         {"LongerThanABlock", std::string(131, '\xaa'),
          "Test Using Larger Than Block-Size Key - Hash Key First",
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"}}),
    [](const auto& row) { return row.param.name; });

TEST(Hmac, PartsAreNotTheirSum) {
  const Hmac hmac("key");
  EXPECT_NE(hmac.of({"ab", "c"}), hmac.of({"a", "bc"}));
  EXPECT_EQ(hmac.of({"ab", "c"}), hmac.of({"ab", "c"}));
}

// Test cases 13 and 14 of the GCM specification (McGrew and Viega).
TEST(Aes, HasItsPublishedAnswers) {
  const Secret key{};
  const std::string nonce(12, '\0');
  EXPECT_EQ(hex_of(encrypt(key, nonce, "", "").value_or("")), "530f8afbc74536b9a963b4f1c4cb738b");
  EXPECT_EQ(hex_of(encrypt(key, nonce, "", std::string(16, '\0')).value_or("")),
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
}

TEST(Aes, WhatWasEncryptedComesBack) {
  const Secret key{1, 2, 3};
  const std::string nonce(12, 'n');
  for (const std::string& plain : {std::string(), std::string("x"), std::string(70'000, 'y')}) {
    const auto bytes = encrypt(key, nonce, "bound", plain);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(decrypt(key, nonce, "bound", *bytes), plain);
  }
}

TEST(Aes, ANonceOfAnotherSizeIsRefused) {
  EXPECT_FALSE(encrypt(Secret{}, "short", "", "plain"));
  EXPECT_FALSE(decrypt(Secret{}, "short", "", std::string(40, 'x')));
}

}  // namespace
}  // namespace dlo
