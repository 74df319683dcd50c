#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dlo/core/spelling.h"

namespace dlo {

/// A few words in lower case that nearly every word of a text is compared with and nearly none is.
/// What begins otherwise, or is of another length, is told apart before any word is looked at.
template <std::size_t N>
class WordList {
 public:
  consteval WordList(const char* const (&words)[N]) {  // NOLINT: a table is written as one
    for (std::size_t i = 0; i < N; ++i) {
      words_[i] = words[i];
      lengths_[place(words_[i].front())] |= bit(words_[i].size());
      seconds_[place(words_[i].front())] |= second(words_[i]);
    }
  }

  /// ASCII case ignored.
  [[nodiscard]] constexpr bool has(std::string_view word) const noexcept {
    if (word.empty()) return false;
    const std::size_t first = place(word.front());
    if ((lengths_[first] & bit(word.size())) == 0) return false;
    if ((seconds_[first] & second(word)) == 0) return false;
    return std::ranges::any_of(words_, [word](std::string_view entry) {
      return entry.size() == word.size() &&
             std::ranges::equal(word, entry, {}, [](char c) { return ascii_lower(c); });
    });
  }

 private:
  /// Letters have places of their own, whatever their case; signs and digits share them.
  static constexpr std::size_t place(char c) noexcept {
    return static_cast<unsigned char>(c) & 0x1FU;
  }
  static constexpr std::uint32_t second(std::string_view word) noexcept {
    return bit(word.size() > 1 ? place(word[1]) : 0);
  }
  static constexpr std::uint32_t bit(std::size_t n) noexcept {
    return std::uint32_t{1} << std::min<std::size_t>(n, 31);
  }

  std::array<std::string_view, N> words_{};
  std::array<std::uint32_t, 32> lengths_{};  // of those that begin with a letter
  std::array<std::uint32_t, 32> seconds_{};  // their second letters
};

}  // namespace dlo
