#include "dlo/core/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlo {
namespace {

// clang-format off
alignas(16) constexpr std::array<std::uint32_t, 64> k = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
// clang-format on

std::uint32_t load_be(const std::uint8_t* at) noexcept {
  return (std::uint32_t{at[0]} << 24U) | (std::uint32_t{at[1]} << 16U) |
         (std::uint32_t{at[2]} << 8U) | std::uint32_t{at[3]};
}

/// One round with the eight working words in rotated roles, so that nothing is moved about.
inline void round(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d,
                  std::uint32_t e, std::uint32_t f, std::uint32_t g, std::uint32_t& h,
                  std::uint32_t kw) noexcept {
  const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
  const std::uint32_t t1 = h + s1 + (g ^ (e & (f ^ g))) + kw;
  const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
  d += t1;
  h = t1 + s0 + ((a & b) | (c & (a | b)));
}

void one_block(Sha256::State& state, const std::uint8_t* block) noexcept {
  std::array<std::uint32_t, 64> w;  // NOLINT: filled before it is read
  for (std::size_t i = 0; i < 16; ++i) w[i] = load_be(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3U);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10U);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; i += 8) {
    round(a, b, c, d, e, f, g, h, k[i] + w[i]);
    round(h, a, b, c, d, e, f, g, k[i + 1] + w[i + 1]);
    round(g, h, a, b, c, d, e, f, k[i + 2] + w[i + 2]);
    round(f, g, h, a, b, c, d, e, k[i + 3] + w[i + 3]);
    round(e, f, g, h, a, b, c, d, k[i + 4] + w[i + 4]);
    round(d, e, f, g, h, a, b, c, k[i + 5] + w[i + 5]);
    round(c, d, e, f, g, h, a, b, k[i + 6] + w[i + 6]);
    round(b, c, d, e, f, g, h, a, k[i + 7] + w[i + 7]);
  }
  const Sha256::State worked = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += worked[i];
}

#if defined(__x86_64__)
bool has_instructions() noexcept {
  static const bool has = __builtin_cpu_supports("sha") != 0 &&
                          __builtin_cpu_supports("sse4.1") != 0 &&
                          __builtin_cpu_supports("ssse3") != 0;
  return has;
}

__attribute__((target("sha,sse4.1,ssse3"))) void fast_blocks(Sha256::State& state,
                                                             const std::uint8_t* blocks,
                                                             std::size_t count) noexcept {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  const auto load = [](const void* at) __attribute__((target("sha,sse4.1,ssse3"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
  };
  // The instructions want the words as ABEF and CDGH.
  const __m128i dcba = load(state.data());
  const __m128i hgfe = load(state.data() + 4);
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);

  for (; count > 0; --count, blocks += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
    for (std::size_t i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(load(blocks + 16 * i), swap);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      if (i >= 4) {  // the next four schedule words, in place of the oldest four
        const __m128i newest = w[(i + 3) % 4];
        const __m128i carried = _mm_alignr_epi8(newest, w[(i + 2) % 4], 4);
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), carried);
        w[i % 4] = _mm_sha256msg2_epu32(sum, newest);
      }
      const __m128i kw = _mm_add_epi32(w[i % 4], load(k.data() + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, kw);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(kw, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  const auto store = [](void* at, __m128i value) __attribute__((target("sha,sse4.1,ssse3"))) {
    _mm_storeu_si128(static_cast<__m128i*>(at), value);
  };
  store(state.data(), _mm_blend_epi16(feba, dchg, 0xF0));
  store(state.data() + 4, _mm_alignr_epi8(dchg, feba, 8));
}
#endif

void work_off(Sha256::State& state, const std::uint8_t* blocks, std::size_t count) noexcept {
  if (!detail::sha256_instructions(state, blocks, count)) {
    detail::sha256_portable(state, blocks, count);
  }
}

}  // namespace

namespace detail {

void sha256_portable(Sha256::State& state, const std::uint8_t* blocks, std::size_t count) noexcept {
  for (; count > 0; --count, blocks += 64) one_block(state, blocks);
}

bool sha256_instructions([[maybe_unused]] Sha256::State& state,
                         [[maybe_unused]] const std::uint8_t* blocks,
                         [[maybe_unused]] std::size_t count) noexcept {
#if defined(__x86_64__)
  if (has_instructions()) {
    fast_blocks(state, blocks, count);
    return true;
  }
#endif
  return false;
}

}  // namespace detail

void Sha256::update(std::string_view bytes) noexcept {
  total_ += bytes.size();
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  if (pending_size_ > 0) {
    const std::size_t taken = std::min(left, pending_.size() - pending_size_);
    std::copy_n(at, taken, pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_));
    pending_size_ += taken;
    at += taken;
    left -= taken;
    if (pending_size_ < pending_.size()) return;
    work_off(state_, pending_.data(), 1);
    pending_size_ = 0;
  }
  work_off(state_, at, left / 64);
  at += left / 64 * 64;
  pending_size_ = left % 64;
  std::copy_n(at, pending_size_, pending_.begin());
}

Digest Sha256::finish() noexcept {
  const std::uint64_t bits = total_ * 8;
  const std::size_t padded = pending_size_ < 56 ? 64 : 128;
  std::array<std::uint8_t, 128> last{};
  std::copy_n(pending_.begin(), pending_size_, last.begin());
  last[pending_size_] = 0x80;
  for (std::size_t i = 0; i < 8; ++i) {
    last[padded - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  work_off(state_, last.data(), padded / 64);
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  *this = Sha256{};
  return digest;
}

Digest sha256(std::string_view bytes) noexcept {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string to_hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4U];
    text += digits[byte & 0xFU];
  }
  return text;
}

}  // namespace dlo
