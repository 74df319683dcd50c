#include "dlo/vault/vault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

namespace dlo {
namespace {

using ::testing::HasSubstr;

KeyDraw draw(std::uint8_t seed) {
  KeyDraw drawn;
  drawn.id.fill(seed);
  drawn.secret.fill(static_cast<std::uint8_t>(seed + 1));
  return drawn;
}
const KeyRing ring{{master_key(draw(1))}};

WrappedKey data_key(std::uint8_t seed, std::uint64_t serial) {
  auto key = new_data_key(ring.keys.back(), serial, TimePoint{}, draw(seed));
  EXPECT_TRUE(key);
  return *key;
}
Vault vault_of(const std::vector<WrappedKey>& keys) {
  auto vault = Vault::open(ring, keys);
  EXPECT_TRUE(vault) << vault.error().detail;
  return std::move(*vault);
}
const Vault vault = vault_of({data_key(10, 1)});

TEST(Vault, WhatIsSealedOpensInItsPlace) {
  rc::check([](const std::string& place, const std::string& plain) {
    const auto sealed = vault.seal(place, plain);
    RC_ASSERT(sealed.has_value());
    RC_ASSERT(is_sealed(std::string_view(*sealed)));
    RC_ASSERT(unsealed_size(*sealed) == plain.size());
    RC_ASSERT(key_of(*sealed) == vault.current());
    RC_ASSERT(vault.open(place, *sealed).value() == plain);
  });
}

TEST(Vault, SealedBytesDoNotHoldWhatWasSealed) {
  const auto sealed = vault.seal("payload of a", "card 4111 1111 1111 1111");
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->find("4111"), std::string::npos);
}

TEST(Vault, InAnotherPlaceNothingOpens) {
  const auto sealed = vault.seal("payload of a", "plain");
  ASSERT_TRUE(sealed);
  const auto moved = vault.open("payload of b", *sealed);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::corrupt);
  EXPECT_THAT(moved.error().detail, HasSubstr("payload of b"));
}

TEST(Vault, AnyChangedByteIsNoticed) {
  const auto sealed = vault.seal("place", "plain text");
  ASSERT_TRUE(sealed);
  for (std::size_t i = seal_mark.size(); i < sealed->size(); ++i) {
    std::string changed = *sealed;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    EXPECT_FALSE(vault.open("place", changed)) << i;
  }
}

TEST(Vault, CutBytesAreNoticed) {
  const auto sealed = vault.seal("place", "plain text");
  ASSERT_TRUE(sealed);
  for (std::size_t size = seal_cost; size < sealed->size(); ++size) {
    EXPECT_FALSE(vault.open("place", std::string_view(*sealed).substr(0, size))) << size;
  }
}

TEST(Vault, PlainBytesComeBackAsTheyAre) {
  for (const std::string& plain : {std::string(), std::string("{}"), std::string(seal_mark)}) {
    EXPECT_EQ(vault.open("place", plain).value(), plain);
  }
}

TEST(Vault, TheSameInTheSamePlaceIsTheSameAndNothingElseIs) {
  EXPECT_EQ(vault.seal("a", "x").value(), vault.seal("a", "x").value());
  const auto nonce = [](const std::string& sealed) { return sealed.substr(16, seal_nonce_size); };
  EXPECT_NE(nonce(vault.seal("a", "x").value()), nonce(vault.seal("a", "y").value()));
  EXPECT_NE(nonce(vault.seal("a", "x").value()), nonce(vault.seal("b", "x").value()));
}

TEST(Vault, TheNewestKeySealsAndAllOfThemOpen) {
  const auto old = vault.seal("place", "plain");
  ASSERT_TRUE(old);
  const Vault rotated = vault_of({data_key(20, 2), data_key(10, 1)});
  EXPECT_EQ(rotated.current(), data_key(20, 2).id);
  EXPECT_EQ(rotated.open("place", *old).value(), "plain");
  EXPECT_EQ(key_of(rotated.seal("place", "plain").value()), rotated.current());
}

TEST(Vault, AKeyItDoesNotHaveIsNamed) {
  const Vault other = vault_of({data_key(20, 1)});
  const auto opened = other.open("payload of a", vault.seal("payload of a", "plain").value());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::refused);
  EXPECT_THAT(opened.error().detail, HasSubstr("0a0a0a0a0a0a0a0a"));
}

TEST(Vault, WithoutADataKeyThereIsNone) {
  EXPECT_FALSE(Vault::open(ring, {}));
}

TEST(Vault, TokensTellEqualValuesOfOnePathOnly) {
  EXPECT_EQ(vault.tokens("body.id", "7"), vault.tokens("body.id", "7"));
  EXPECT_NE(vault.tokens("body.id", "7"), vault.tokens("body.id", "8"));
  EXPECT_NE(vault.tokens("body.id", "7"), vault.tokens("body.no", "7"));
  EXPECT_NE(vault.tokens("body.id", "7"), vault_of({data_key(20, 1)}).tokens("body.id", "7"));
}

TEST(Vault, ThereIsATokenForEachKeyTheNewestFirst) {
  const Vault rotated = vault_of({data_key(10, 1), data_key(20, 2)});
  const auto tokens = rotated.tokens("body.id", "7");
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens.back(), vault.tokens("body.id", "7").front());
}

const Headers two{{"tenant", "acme"}, {"b", std::string("\0\xff", 2), HeaderType::bytes}};

TEST(SealedBody, ComesBackWithEveryHeader) {
  Message message;
  message.headers = two;
  message.payload = "card 4111";
  const Message before = message;
  ASSERT_TRUE(seal_body(vault, "record a", message));
  EXPECT_TRUE(is_sealed(message.headers));
  EXPECT_TRUE(is_sealed(std::string_view(*message.payload)));
  ASSERT_EQ(message.headers.size(), 1U);
  EXPECT_EQ(message.headers.front().value.find("acme"), std::string::npos);
  ASSERT_TRUE(open_body(vault, "record a", message));
  EXPECT_EQ(message, before);
}

TEST(SealedBody, NothingStaysNothing) {
  Message message;
  ASSERT_TRUE(seal_body(vault, "record a", message));
  EXPECT_EQ(message, Message{});
  message.payload = "";
  ASSERT_TRUE(seal_body(vault, "record a", message));
  EXPECT_TRUE(is_sealed(std::string_view(*message.payload)));
}

TEST(SealedBody, OfAnotherRecordDoesNotOpen) {
  Message message;
  message.headers = two;
  ASSERT_TRUE(seal_body(vault, "record a", message));
  EXPECT_FALSE(open_body(vault, "record b", message));
}

TEST(SealedBody, APlainOneIsLeftAlone) {
  Message message;
  message.headers = {{"dlo-sealed", "not sealed at all"}};
  message.payload = "plain";
  const Message before = message;
  ASSERT_TRUE(open_body(vault, "record a", message));
  EXPECT_EQ(message, before);
}

TEST(PackedHeaders, ReadBackOrAreRefused) {
  const std::string packed = pack_headers(two);
  EXPECT_EQ(unpack_headers(packed), two);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(unpack_headers(std::string_view(packed).substr(0, size))) << size;
  }
  EXPECT_FALSE(unpack_headers(packed + "x"));
}

TEST(KeyIds, ReadBack) {
  EXPECT_EQ(parse_key_id(to_string(KeyId{0xABC})), KeyId{0xABC});
  for (const char* text :
       {"", "abc", "0x00000000000abc", "00000000000000000", "-000000000000abc"}) {
    EXPECT_FALSE(parse_key_id(text)) << text;
  }
}

}  // namespace
}  // namespace dlo
