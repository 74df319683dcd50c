#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlo {

/// SHA-256 (FIPS 180-4). Ids, content hashes and the audit chain use it.
using Digest = std::array<std::uint8_t, 32>;

/// Feed with `update`, end with `finish`. After `finish` it is as new. Uses the processor's SHA
/// instructions where it has them; the digest is the same either way.
class Sha256 {
 public:
  void update(std::string_view bytes) noexcept;
  [[nodiscard]] Digest finish() noexcept;

  using State = std::array<std::uint32_t, 8>;

 private:
  static constexpr State start = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  State state_ = start;
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

[[nodiscard]] Digest sha256(std::string_view bytes) noexcept;
[[nodiscard]] std::string to_hex(const Digest& digest);

namespace detail {
/// The two ways to work off whole 64-byte blocks, so that tests can compare them.
void sha256_portable(Sha256::State& state, const std::uint8_t* blocks, std::size_t count) noexcept;
/// False, and nothing done, where the processor lacks the instructions.
bool sha256_instructions(Sha256::State& state, const std::uint8_t* blocks,
                         std::size_t count) noexcept;
}  // namespace detail

}  // namespace dlo
