#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/json/text/value.h"

namespace dlo {

struct JsonTreeMember;

/// A JSON value that can be changed. Numbers and strings stay the text they were, members keep
/// their order, so what nobody touched is printed as it was, but for blanks.
struct JsonTree {
  JsonKind kind = JsonKind::null;
  std::string scalar = "null";  // of null, boolean, number and string: as JSON text
  std::vector<JsonTree> items;
  std::vector<JsonTreeMember> members;
};

struct JsonTreeMember {
  std::string name;
  JsonTree value;
};

[[nodiscard]] JsonTree tree_of(const JsonValue& value);
/// Refuses what is no JSON, and members that are there twice: which one is meant?
[[nodiscard]] Result<JsonTree> parse_tree(std::string_view text);
[[nodiscard]] std::string print_tree(const JsonTree& tree);
[[nodiscard]] JsonTree text_tree(std::string_view text);

/// RFC 6902, 4.6: the same kind and value; order of members does not count, nor how a number is
/// written (1, 1.0 and 10e-1 are the same).
[[nodiscard]] bool same(const JsonTree& a, const JsonTree& b);

/// How deep it is nested, and about how many bytes of memory it takes.
[[nodiscard]] std::size_t depth_of(const JsonTree& tree);
[[nodiscard]] std::size_t weight_of(const JsonTree& tree);

/// What stands at `steps`, or null.
[[nodiscard]] JsonTree* find(JsonTree& tree, const std::vector<std::string>& steps);
[[nodiscard]] const JsonTree* find(const JsonTree& tree, const std::vector<std::string>& steps);

/// The place of an element: no sign, no leading zero, below `size`.
[[nodiscard]] std::optional<std::size_t> index_of(std::string_view step, std::size_t size);

/// The steps of a JSON pointer (RFC 6901); the empty pointer is the whole.
[[nodiscard]] Result<std::vector<std::string>> pointer_steps(std::string_view pointer);
[[nodiscard]] std::string pointer_of(const std::vector<std::string>& steps);

}  // namespace dlo
