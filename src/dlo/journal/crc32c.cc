#include "dlo/journal/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace dlo {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = tables[t - 1][i];
      tables[t][i] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}
constexpr Tables tables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse(std::uint32_t before,
                                                           std::string_view bytes) noexcept {
  std::uint64_t crc = before ^ 0xFFFFFFFFU;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  const auto word = [&at](std::size_t number) {
    std::uint64_t value = 0;
    std::memcpy(&value, at + number * 8, 8);
    return value;
  };
  for (; left >= 64; left -= 64, at += 64) {  // counting costs more than the sum: do it seldom
    crc = _mm_crc32_u64(_mm_crc32_u64(crc, word(0)), word(1));
    crc = _mm_crc32_u64(_mm_crc32_u64(crc, word(2)), word(3));
    crc = _mm_crc32_u64(_mm_crc32_u64(crc, word(4)), word(5));
    crc = _mm_crc32_u64(_mm_crc32_u64(crc, word(6)), word(7));
  }
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, word(0));
  auto small = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) small = _mm_crc32_u8(small, static_cast<unsigned char>(*at));
  return small ^ 0xFFFFFFFFU;
}

bool has_sse42() noexcept {
  static const bool yes = __builtin_cpu_supports("sse4.2") != 0;
  return yes;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes) noexcept {
  std::uint32_t crc = before ^ 0xFFFFFFFFU;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {  // slicing by eight
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xFFU] ^ tables[6][(low >> 8U) & 0xFFU] ^
          tables[5][(low >> 16U) & 0xFFU] ^ tables[4][low >> 24U] ^ tables[3][high & 0xFFU] ^
          tables[2][(high >> 8U) & 0xFFU] ^ tables[1][(high >> 16U) & 0xFFU] ^
          tables[0][high >> 24U];
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8U) ^ tables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xFFU];
  }
  return crc ^ 0xFFFFFFFFU;
}

std::uint32_t crc32c(std::uint32_t before, std::string_view bytes) noexcept {
#if defined(__x86_64__)
  if (has_sse42()) return crc32c_sse(before, bytes);
#endif
  return crc32c_portable(before, bytes);
}

}  // namespace dlo
