#include "dlo/core/text_finder.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "dlo/core/spelling.h"

namespace dlo {

/// The automaton while it is being built. State 0 is the root; states are in breadth-first order
/// of creation only after `complete`.
struct TextFinder::Trie {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  explicit Trie(std::size_t columns_in) : columns(columns_in) { add_state(); }

  std::uint32_t add_state() {
    next.resize(next.size() + columns, none);
    ends.emplace_back();
    return static_cast<std::uint32_t>(ends.size() - 1);
  }

  void add(std::size_t needle, const std::vector<std::size_t>& path) {
    std::uint32_t state = 0;
    for (const std::size_t column : path) {
      const std::size_t cell = state * columns + column;
      if (next[cell] == none) {
        const std::uint32_t fresh = add_state();
        next[cell] = fresh;
      }
      state = next[cell];
    }
    ends[state].push_back(static_cast<std::uint32_t>(needle));
  }

  /// Breadth first: where a state has no way on, it continues as its longest proper suffix would,
  /// and it also ends whatever that suffix ends.
  void complete() {
    std::vector<std::uint32_t> suffix(ends.size(), 0);
    std::vector<std::uint32_t> queue = {0};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::uint32_t state = queue[head];
      for (std::size_t column = 0; column < columns; ++column) {
        const std::uint32_t fallback = state == 0 ? 0 : next[suffix[state] * columns + column];
        std::uint32_t& cell = next[state * columns + column];
        if (cell == none) {
          cell = fallback;
          continue;
        }
        suffix[cell] = fallback;
        ends[cell].insert(ends[cell].end(), ends[fallback].begin(), ends[fallback].end());
        queue.push_back(cell);
      }
    }
  }

  std::size_t columns;
  std::vector<std::uint32_t> next;
  std::vector<std::vector<std::uint32_t>> ends;
};

TextFinder::TextFinder(std::span<const Needle> needles) {
  for (const Needle& needle : needles) {
    for (const char c : needle.text) {
      std::uint8_t& column = column_[static_cast<unsigned char>(ascii_lower(c))];
      if (column == 0) column = static_cast<std::uint8_t>(columns_++);
    }
  }
  for (std::size_t c = 'A'; c <= 'Z'; ++c) column_[c] = column_[c - 'A' + 'a'];

  Trie trie(columns_);
  std::vector<std::size_t> path;
  for (std::size_t i = 0; i < needles.size(); ++i) {
    const std::string& text = needles[i].text;
    path.clear();
    for (const char c : text) path.push_back(column(c));
    trie.add(i, path);
    const bool whole = needles[i].whole_word;
    needles_.push_back(
        {text.size(), whole && is_word(text.front()), whole && is_word(text.back())});
    longest_ = std::max(longest_, text.size());
  }
  trie.complete();
  build_table(trie);
}

void TextFinder::build_table(const Trie& trie) {
  // States that end a needle get the highest rows, from a power of two on, so that one comparison
  // tells whether any of several states is such a one. The rows between are never read.
  const std::size_t states = trie.ends.size();
  std::vector<std::size_t> offset(states);
  std::size_t next = 0;
  for (std::size_t s = 0; s < states; ++s) {
    if (!trie.ends[s].empty()) continue;
    offset[s] = next;
    next += columns_;
  }
  accepting_ = std::bit_ceil(next);
  next = accepting_;
  first_hit_.push_back(0);
  for (std::size_t s = 0; s < states; ++s) {
    if (trie.ends[s].empty()) continue;
    offset[s] = next;
    next += columns_;
    hits_.insert(hits_.end(), trie.ends[s].begin(), trie.ends[s].end());
    first_hit_.push_back(static_cast<std::uint32_t>(hits_.size()));
  }
  const auto fill = [&](auto& table) {
    using Entry = typename std::remove_reference_t<decltype(table)>::value_type;
    table.resize(next);
    for (std::size_t s = 0; s < states; ++s) {
      for (std::size_t column = 0; column < columns_; ++column) {
        table[offset[s] + column] = static_cast<Entry>(offset[trie.next[s * columns_ + column]]);
      }
    }
  };
  if (next <= std::numeric_limits<std::uint16_t>::max()) {
    fill(narrow_);
  } else {
    fill(wide_);
  }
}

}  // namespace dlo
