#include "dlo/journal/crc32c.h"

#include <array>
#include <atomic>
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
// The processor begins a sum every cycle and needs three for each: three sums at once take no
// longer than one. This much of each, so that a body of 1 KB is one round.
constexpr std::size_t stretch = 336;

/// What `crc` becomes after so many zeros; the sum of two pieces is that of the first, moved on by
/// the length of the second, and the second's own, combined.
constexpr std::uint32_t after_zeros(std::uint32_t crc, std::size_t zeros) noexcept {
  for (std::size_t i = 0; i < zeros; ++i) crc = (crc >> 8U) ^ tables[0][crc & 0xFFU];
  return crc;
}

using Moves = std::array<std::array<std::uint32_t, 256>, 4>;
constexpr Moves make_moves(std::size_t zeros) {
  std::array<std::uint32_t, 32> bits{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) bits[bit] = after_zeros(1U << bit, zeros);
  Moves moves{};
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    for (std::uint32_t value = 0; value < 256; ++value) {
      for (std::uint32_t bit = 0; bit < 8; ++bit) {
        if ((value >> bit & 1U) != 0) moves[byte][value] ^= bits[byte * 8 + bit];
      }
    }
  }
  return moves;
}
constexpr Moves moves = make_moves(stretch);

std::uint64_t moved(std::uint64_t crc) noexcept {
  return moves[0][crc & 0xFFU] ^ moves[1][crc >> 8U & 0xFFU] ^ moves[2][crc >> 16U & 0xFFU] ^
         moves[3][crc >> 24U & 0xFFU];
}

std::uint64_t word(const char* at) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, 8);
  return value;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse(std::uint32_t before,
                                                           std::string_view bytes) noexcept {
  std::uint64_t crc = before ^ 0xFFFFFFFFU;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * stretch; left -= 3 * stretch, at += 3 * stretch) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (const char* here = at; here < at + stretch; here += 48) {
#pragma GCC unroll 6
      for (std::size_t i = 0; i < 48; i += 8) {  // counting costs more than the sum
        crc = _mm_crc32_u64(crc, word(here + i));
        second = _mm_crc32_u64(second, word(here + stretch + i));
        third = _mm_crc32_u64(third, word(here + 2 * stretch + i));
      }
    }
    crc = moved(moved(crc) ^ second) ^ third;
  }
  for (; left >= 32; left -= 32, at += 32) {
    crc = _mm_crc32_u64(_mm_crc32_u64(crc, word(at)), word(at + 8));
    crc = _mm_crc32_u64(_mm_crc32_u64(crc, word(at + 16)), word(at + 24));
  }
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, word(at));
  auto small = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) small = _mm_crc32_u8(small, static_cast<unsigned char>(*at));
  return small ^ 0xFFFFFFFFU;
}
#endif

using Sum = std::uint32_t (*)(std::uint32_t, std::string_view) noexcept;

std::uint32_t first_sum(std::uint32_t before, std::string_view bytes) noexcept;
// Whoever is first asks what the processor can do; all others call that.
constinit std::atomic<Sum> sum = first_sum;

std::uint32_t first_sum(std::uint32_t before, std::string_view bytes) noexcept {
  Sum best = crc32c_portable;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) best = crc32c_sse;
#endif
  sum.store(best, std::memory_order_relaxed);
  return best(before, bytes);
}

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
  return sum.load(std::memory_order_relaxed)(before, bytes);
}

}  // namespace dlo
