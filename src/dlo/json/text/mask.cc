#include "dlo/json/text/mask.h"

#include <algorithm>
#include <charconv>
#include <span>

namespace dlo {
namespace {

using Steps = std::span<const std::string>;

std::optional<std::size_t> index_of(const std::string& step) noexcept {
  std::size_t index = 0;
  const char* end = step.data() + step.size();
  const auto [stopped, error] = std::from_chars(step.data(), end, index);
  if (step.empty() || error != std::errc{} || stopped != end) return std::nullopt;
  return index;
}

/// Every value the path leads to.
template <typename Visit>
void visit(const JsonValue& value, Steps steps, const Visit& each) {
  if (steps.empty()) return each(value);
  const Steps rest = steps.subspan(1);
  if (value.kind == JsonKind::array) {
    const auto index = index_of(steps.front());
    if (index && *index < value.items.size()) visit(value.items[*index], rest, each);
  }
  for (const JsonMember& member : value.members) {
    if (member.name == steps.front()) visit(member.value, rest, each);
  }
}

struct Range {
  std::size_t from;
  std::size_t to;
};

}  // namespace

std::optional<std::string> mask_json(std::string_view text, const std::vector<JsonPath>& paths) {
  const auto root = parse_json(text);
  if (!root) return std::nullopt;
  std::vector<Range> hidden;
  for (const JsonPath& path : paths) {
    visit(*root, path.steps, [&](const JsonValue& value) {
      const auto from = static_cast<std::size_t>(value.raw.data() - text.data());
      hidden.push_back({from, from + value.raw.size()});
    });
  }
  std::sort(hidden.begin(), hidden.end(), [](const Range& a, const Range& b) {
    return a.from < b.from || (a.from == b.from && a.to > b.to);
  });
  std::string out;
  std::size_t at = 0;
  for (const Range& range : hidden) {
    if (range.from < at) continue;  // inside of one that is hidden already
    out += text.substr(at, range.from - at);
    out += '"';
    out += mask_text;
    out += '"';
    at = range.to;
  }
  out += text.substr(at);
  return out;
}

bool holds_mask(std::string_view text, const std::vector<JsonPath>& paths) {
  const auto root = parse_json(text);
  if (!root) return false;
  bool found = false;
  for (const JsonPath& path : paths) {
    visit(*root, path.steps, [&](const JsonValue& value) {
      found = found || (value.kind == JsonKind::string && value.text() == mask_text);
    });
  }
  return found;
}

}  // namespace dlo
