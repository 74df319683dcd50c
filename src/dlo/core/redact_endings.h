#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dlo/core/redact_tables.h"

/// Nearly every word of every error text is asked whether it names a secret; nearly none ends like
/// one that does.
namespace dlo::redact_tables {

/// The last two letters of every word that redact looks for. Letters have places of their own,
/// whatever their case; digits and signs share them.
class Endings {
 public:
  constexpr Endings() {
    add(telling);
    add(suspicious);
    add(authorization);
    add(cookies);
    add(code_endings);
    add(token_schemes);
    add(oracle_drivers);
    add(oracle_programs);
    add(std::to_array<std::string_view>({"by", "key", "code", "number"}));
  }

  /// False only if the word, which begins with no dash, is none of these and ends like none of
  /// them,
  /// `_` and `-` left out.
  [[nodiscard]] constexpr bool may_matter(std::string_view word) const noexcept {
    if (word.size() < 2) return false;
    const char last = word.back();
    const char before = word[word.size() - 2];
    if (is_left_out(last) || is_left_out(before)) return true;
    return (seen_[place(last)] & (std::uint32_t{1} << place(before))) != 0;
  }

 private:
  static constexpr bool is_left_out(char c) noexcept { return c == '_' || c == '-'; }
  static constexpr std::size_t place(char c) noexcept {
    return static_cast<unsigned char>(c) & 0x1FU;
  }
  constexpr void add(std::span<const std::string_view> words) {
    for (const std::string_view word : words) {
      seen_[place(word.back())] |= std::uint32_t{1} << place(word[word.size() - 2]);
    }
  }

  std::array<std::uint32_t, 32> seen_{};
};
inline constexpr Endings endings;

}  // namespace dlo::redact_tables
