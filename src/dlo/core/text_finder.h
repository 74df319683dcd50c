#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlo {

/// Finds many needles in one pass over a text, ASCII case ignored: an Aho-Corasick automaton
/// unrolled into one dense table, its columns folded to the bytes that occur in needles.
///
/// One step of such a table waits for the step before it, so a longer text is walked at four
/// places at once, overlapping by the longest needle; that is three times as fast as one walk.
class TextFinder {
 public:
  struct Needle {
    std::string text;         // not empty
    bool whole_word = false;  // letters, digits, '_' or bytes above 127 beside it: no match
  };

  TextFinder() = default;
  explicit TextFinder(std::span<const Needle> needles);

  /// Calls `found(index)` at least once for each needle that occurs in `text`, in no order.
  template <typename Found>
  void scan(std::string_view text, Found&& found) const {
    if (needles_.empty() || text.empty()) return;
    if (!narrow_.empty()) {
      walk(narrow_, text, found);
    } else {
      walk(wide_, text, found);
    }
  }

  [[nodiscard]] static bool is_word(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 0x80;
  }

 private:
  struct Shape {
    std::size_t length = 0;
    bool left = false;   // a word byte before it spoils the match
    bool right = false;  // a word byte after it does
  };
  struct Trie;

  void build_table(const Trie& trie);

  template <typename Entry, typename Found>
  void walk(const std::vector<Entry>& table, std::string_view text, Found& found) const {
    const std::size_t overlap = longest_ - 1;
    const std::size_t size = text.size();
    if (size < 64 || overlap > size / 4) {
      walk_one(table, text, found);
      return;
    }
    // Four stretches of one length; each begins `overlap` before the end of the one before.
    const std::size_t stretch = (size + 3 * overlap + 3) / 4;
    const std::size_t stride = stretch - overlap;
    const std::size_t last = size - stretch;
    const Entry* const row = table.data();
    const char* const bytes = text.data();
    std::size_t a = 0;
    std::size_t b = 0;
    std::size_t c = 0;
    std::size_t d = 0;
    for (std::size_t i = 0; i < stretch; ++i) {
      const char* const at = bytes + i;
      a = row[a + column(at[0])];
      b = row[b + column(at[stride])];
      c = row[c + column(at[2 * stride])];
      d = row[d + column(at[last])];
      if ((a | b | c | d) < accepting_) continue;  // it is a power of two
      if (a >= accepting_) report(a, i + 1, text, found);
      if (b >= accepting_) report(b, stride + i + 1, text, found);
      if (c >= accepting_) report(c, 2 * stride + i + 1, text, found);
      if (d >= accepting_) report(d, last + i + 1, text, found);
    }
  }

  template <typename Entry, typename Found>
  void walk_one(const std::vector<Entry>& table, std::string_view text, Found& found) const {
    std::size_t state = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      state = table[state + column(text[i])];
      if (state >= accepting_) report(state, i + 1, text, found);
    }
  }

  template <typename Found>
  void report(std::size_t state, std::size_t end, std::string_view text, Found& found) const {
    const std::size_t place = (state - accepting_) / columns_;
    for (std::size_t i = first_hit_[place]; i < first_hit_[place + 1]; ++i) {
      const std::size_t needle = hits_[i];
      const Shape& shape = needles_[needle];
      if (shape.right && end < text.size() && is_word(text[end])) continue;
      if (shape.left && end > shape.length && is_word(text[end - shape.length - 1])) continue;
      found(needle);
    }
  }

  [[nodiscard]] std::size_t column(char c) const noexcept {
    return column_[static_cast<unsigned char>(c)];
  }

  std::array<std::uint8_t, 256> column_{};  // 0: a byte of no needle
  std::size_t columns_ = 1;
  std::size_t accepting_ = 1;          // states (row offsets) from here on end a needle
  std::vector<std::uint16_t> narrow_;  // the table, if its offsets fit 16 bits ...
  std::vector<std::uint32_t> wide_;    // ... and if they do not
  std::vector<std::uint32_t> first_hit_;
  std::vector<std::uint32_t> hits_;
  std::vector<Shape> needles_;
  std::size_t longest_ = 1;
};

}  // namespace dlo
