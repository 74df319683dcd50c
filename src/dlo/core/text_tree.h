#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"

namespace dlo {

struct TextEntry;

/// Nested text: what a profile file says before anybody knows what it means. The form is the part
/// of YAML that needs no guessing: block maps and lists, `[a, b]`, plain and quoted scalars,
/// comments. Anchors, tags, block scalars, tabs and repeated keys are refused with their line.
struct TextNode {
  enum class Kind : std::uint8_t { scalar, map, list };
  Kind kind = Kind::scalar;
  std::string scalar;
  std::vector<TextEntry> map;
  std::vector<TextNode> list;
  std::size_t line = 0;
  bool quoted = false;  // a scalar in quotes: text, whatever it looks like
};

/// One `key: value` of a map.
struct TextEntry {
  std::string key;
  TextNode value;
};

[[nodiscard]] Result<TextNode> parse_text_tree(std::string_view text);

/// A scalar as YAML reads it back as the same string: plain where that is safe, else quoted.
/// `text` must be UTF-8.
[[nodiscard]] std::string print_scalar(std::string_view text);

}  // namespace dlo
