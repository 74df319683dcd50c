#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlo {

/// A list shows so many bytes of an error text and no more, so that a page stays small whatever
/// died: a row whose text is longer than this is cut and says so. `get` has the whole text.
inline constexpr std::size_t row_text_limit = 1024;
inline constexpr std::string_view row_text_mark = "… (cut)";

/// What a row shows of a text that begins with `beginning` and is longer than the limit. Cut
/// between two characters of UTF-8.
[[nodiscard]] inline std::string cut_row_text(std::string_view beginning) {
  beginning = beginning.substr(0, row_text_limit);
  std::size_t first = beginning.size();  // of the last character
  while (first > 0 && beginning.size() - first < 4) {
    const auto byte = static_cast<unsigned char>(beginning[--first]);
    if (byte < 0x80U) break;
    if (byte < 0xC0U) continue;
    const std::size_t wanted = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : 2;
    if (beginning.size() - first < wanted) beginning = beginning.substr(0, first);
    break;
  }
  return std::string(beginning) + std::string(row_text_mark);
}

[[nodiscard]] inline std::string row_text(const std::string& text) {
  return text.size() > row_text_limit ? cut_row_text(text) : text;
}

}  // namespace dlo
