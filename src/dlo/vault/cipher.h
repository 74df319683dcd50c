#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/sha256.h"

namespace dlo {

inline constexpr std::size_t secret_size = 32;
/// 256 secret bits.
using Secret = std::array<std::uint8_t, secret_size>;
[[nodiscard]] std::string_view view_of(const Secret& secret) noexcept;
/// Empty unless there are exactly 32 bytes.
[[nodiscard]] std::optional<Secret> secret_of(std::string_view bytes) noexcept;

/// HMAC-SHA256 (RFC 2104) with a key that is worked in once.
class Hmac {
 public:
  explicit Hmac(std::string_view key) noexcept;
  /// Of all parts, each with its length in front: "ab","c" is not "a","bc".
  [[nodiscard]] Digest of(std::initializer_list<std::string_view> parts) const noexcept;
  /// Of the bytes alone, as everybody else computes it.
  [[nodiscard]] Digest plain(std::string_view bytes) const noexcept;

 private:
  [[nodiscard]] Digest finish(Sha256& inner) const noexcept;
  Sha256 inner_;
  Sha256 outer_;
};

/// AES-256-GCM: ciphertext and tag of `plain`. `nonce` has 12 bytes and must never be used for
/// anything else under this key. Nothing: OpenSSL cannot.
[[nodiscard]] std::optional<std::string> encrypt(const Secret& key, std::string_view nonce,
                                                 std::string_view bound, std::string_view plain);
/// Nothing unless key, nonce, `bound` and every byte are those it was encrypted with.
[[nodiscard]] std::optional<std::string> decrypt(const Secret& key, std::string_view nonce,
                                                 std::string_view bound, std::string_view bytes);

}  // namespace dlo
