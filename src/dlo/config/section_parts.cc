#include "dlo/config/section_parts.h"

#include "dlo/config/config.h"
#include "dlo/config/keys.h"
#include "dlo/config/rule_sections.h"

namespace dlo {

std::optional<std::uint64_t> read_bounded(const std::string& path, const TextNode& value,
                                          const NumberBounds& bounds, ConfigReading& reading) {
  ConfigKey key;
  key.path = path;
  key.kind = bounds.kind;
  key.least = bounds.least;
  key.most = bounds.most;
  const auto read = read_value(key, value.scalar);
  if (read) return read->number;
  reading.problems.push_back({value.line, read.error().detail});
  return std::nullopt;
}

bool holds_entries(const std::string& name, const TextNode& section, std::size_t most,
                   ConfigReading& reading) {
  const bool is_map = section.kind == TextNode::Kind::map;
  if (is_map && section.map.size() <= most) return true;
  reading.problems.push_back(
      {section.line, is_map ? name + " must not hold more than " + std::to_string(most) + "."
                            : name + " holds settings by name: `name: value`."});
  return false;
}

}  // namespace dlo
