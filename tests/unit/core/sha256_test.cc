#include "dlo/core/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>

namespace dlo {
namespace {

struct Row {
  const char* name;
  std::string input;
  const char* digest;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class Sha256Vectors : public ::testing::TestWithParam<Row> {};

TEST_P(Sha256Vectors, HaveTheirPublishedDigest) {
  EXPECT_EQ(to_hex(sha256(GetParam().input)), GetParam().digest);
}

// FIPS 180-4 examples and the NIST CAVP short and long message vectors.
INSTANTIATE_TEST_SUITE_P(
    Fips, Sha256Vectors,
    ::testing::ValuesIn<Row>({
        {"Empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"Abc", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"TwoBlocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"FourBlocks",
         "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"OneByte", "\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
        {"MillionAs", std::string(1'000'000, 'a'),
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(Sha256, DoesNotDependOnHowItIsFed) {
  EXPECT_TRUE(rc::check([](const std::string& bytes, const std::vector<std::uint8_t>& cuts) {
    Sha256 hash;
    std::string_view left = bytes;
    for (const std::uint8_t cut : cuts) {
      hash.update(left.substr(0, cut));
      left.remove_prefix(std::min<std::size_t>(cut, left.size()));
    }
    hash.update(left);
    RC_ASSERT(hash.finish() == sha256(bytes));
  }));
}

TEST(Sha256, AgreesWithItselfAroundEveryBlockBoundary) {
  for (std::size_t size = 0; size < 260; ++size) {
    const std::string bytes(size, 'x');
    Sha256 hash;
    for (const char c : bytes) hash.update({&c, 1});
    EXPECT_EQ(hash.finish(), sha256(bytes)) << size;
  }
}

TEST(Sha256, IsAsNewAfterFinish) {
  Sha256 hash;
  hash.update("something else");
  static_cast<void>(hash.finish());
  hash.update("abc");
  EXPECT_EQ(hash.finish(), sha256("abc"));
}

TEST(Sha256, IsTheSameWithAndWithoutTheProcessorsInstructions) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    std::vector<std::uint8_t> blocks(64 * (1 + seed % 5));
    for (auto& byte : blocks) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      byte = static_cast<std::uint8_t>(seed >> 33U);
    }
    Sha256::State portable{1, 2, 3, 4, 5, 6, 7, 8};
    Sha256::State fast = portable;
    detail::sha256_portable(portable, blocks.data(), blocks.size() / 64);
    RC_PRE(detail::sha256_instructions(fast, blocks.data(), blocks.size() / 64));
    RC_ASSERT(portable == fast);
  }));
}

}  // namespace
}  // namespace dlo
