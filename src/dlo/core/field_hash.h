#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/id.h"
#include "dlo/core/sha256.h"

namespace dlo {

/// Hashes a list of fields so that no two lists look alike: each is preceded by its length.
class FieldHash {
 public:
  void number(std::uint64_t value) noexcept {
    std::array<char, 8> bytes;  // NOLINT: filled before it is read
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((value >> (8 * i)) & 0xFFU);
    hash_.update({bytes.data(), bytes.size()});
  }
  void field(std::string_view bytes) noexcept {
    number(bytes.size());
    hash_.update(bytes);
  }
  void nullable(const std::optional<std::string>& bytes) noexcept {
    number(bytes ? 1 : 0);
    if (bytes) field(*bytes);
  }
  /// The first 128 bits. The hash is as new afterwards.
  [[nodiscard]] Id128 id() noexcept {
    const Digest digest = hash_.finish();
    const auto half = [&](std::size_t from) {
      std::uint64_t value = 0;
      for (std::size_t i = from; i < from + 8; ++i) value = (value << 8U) | digest[i];
      return value;
    };
    return {half(0), half(8)};
  }

 private:
  Sha256 hash_;
};

}  // namespace dlo
