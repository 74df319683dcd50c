#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/text_tree.h"

namespace dlo {

/// Something a person has to change. `line` 0: it is in no line of the file.
struct ConfigProblem {
  std::size_t line = 0;
  std::string text;
  bool operator==(const ConfigProblem&) const = default;
};

/// What a YAML file says before anybody knows what it means, and everything that is wrong with it.
struct YamlReading {
  TextNode root;  // a map; as far as the file could be read
  std::vector<ConfigProblem> problems;
};

/// Reads one YAML document. Repeated keys, anchors, aliases, tags, merges, keys without a value and
/// further documents are problems: each of them says something else than most readers think.
[[nodiscard]] YamlReading read_yaml(std::string_view text);

}  // namespace dlo
