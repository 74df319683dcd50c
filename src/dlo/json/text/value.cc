#include "dlo/json/text/value.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dlo {

namespace {

std::optional<JsonKind> kind_of(JsonToken token) noexcept {
  switch (token) {
    case JsonToken::begin_object:
      return JsonKind::object;
    case JsonToken::begin_array:
      return JsonKind::array;
    case JsonToken::string:
      return JsonKind::string;
    case JsonToken::number:
      return JsonKind::number;
    case JsonToken::boolean:
      return JsonKind::boolean;
    case JsonToken::null:
      return JsonKind::null;
    case JsonToken::end_object:
    case JsonToken::end_array:
    case JsonToken::key:
    case JsonToken::end:
    case JsonToken::mistake:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Builds the tree; recursion is bounded by the scanner's depth.
class Builder {
 public:
  Builder(std::string_view text, std::size_t deepest) : scanner_(text, deepest) {}

  Result<JsonValue> build() {
    JsonValue value;
    if (!fill(scanner_.next(), value) || scanner_.next() != JsonToken::end) {
      return Error{Code::invalid_argument, "json.parse", "not JSON: " + scanner_.mistake()};
    }
    return value;
  }

 private:
  bool fill(JsonToken token, JsonValue& value) {
    const auto kind = kind_of(token);
    if (!kind) return false;
    value.kind = *kind;
    value.raw = scanner_.raw();
    const char* begin = value.raw.data();
    const bool ok = *kind == JsonKind::object  ? fill_object(value)
                    : *kind == JsonKind::array ? fill_array(value)
                                               : true;
    if (!ok) return false;
    const std::string_view last = scanner_.raw();
    value.raw = {begin, static_cast<std::size_t>(last.data() + last.size() - begin)};
    return true;
  }

  bool fill_object(JsonValue& object) {
    for (;;) {
      const JsonToken token = scanner_.next();
      if (token == JsonToken::end_object) return true;
      if (token != JsonToken::key) return false;
      object.members.push_back({json_unescape(scanner_.raw()), {}});
      if (!fill(scanner_.next(), object.members.back().value)) return false;
    }
  }

  bool fill_array(JsonValue& array) {
    for (;;) {
      const JsonToken token = scanner_.next();
      if (token == JsonToken::end_array) return true;
      array.items.emplace_back();
      if (!fill(token, array.items.back())) return false;
    }
  }

  JsonScanner scanner_;
};

template <typename Number>
std::optional<Number> whole_number(const JsonValue& value) noexcept {
  if (value.kind != JsonKind::number) return std::nullopt;
  Number out{};
  const char* end = value.raw.data() + value.raw.size();
  const auto read = std::from_chars(value.raw.data(), end, out);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return out;
}

std::string unescape_pointer(std::string_view step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const bool escaped = step[i] == '~' && i + 1 < step.size();
    if (escaped && (step[i + 1] == '0' || step[i + 1] == '1')) {
      out += step[++i] == '0' ? '~' : '/';
    } else {
      out += step[i];
    }
  }
  return out;
}

/// Where a scan stands: one frame per open array or object.
struct Frame {
  bool is_object = false;
  std::string_view key;  // raw, with quotes
  std::size_t index = 0;
};

bool is_at(const Frame& frame, const std::string& step) {
  if (!frame.is_object) return std::to_string(frame.index) == step;
  const std::string_view inside = frame.key.substr(1, frame.key.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside == step;
  return json_unescape(frame.key) == step;
}

/// Follows one path through the tokens of a text.
void visit(const JsonPath& path, const std::vector<Frame>& frames, JsonKind kind,
           std::string_view raw, JsonFound& found) {
  const std::size_t depth = frames.size();
  if (depth > path.steps.size()) return;
  if (!std::equal(frames.begin(), frames.end(), path.steps.begin(), is_at)) return;
  found = {};  // a repeated key: what stood under the earlier one no longer counts
  if (depth == path.steps.size()) {
    found.kind = kind;
    if (kind != JsonKind::array && kind != JsonKind::object) found.raw = raw;
  }
}

}  // namespace

std::string_view name_of(JsonKind kind) noexcept {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "boolean";
    case JsonKind::number:
      return "number";
    case JsonKind::string:
      return "string";
    case JsonKind::array:
      return "array";
    case JsonKind::object:
      return "object";
  }
  return "null";
}

const JsonValue* JsonValue::find(std::string_view name) const noexcept {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [name](const JsonMember& each) { return each.name == name; });
  return found == members.rend() ? nullptr : &found->value;
}

std::string JsonValue::text() const {
  return kind == JsonKind::string ? json_unescape(raw) : std::string();
}

std::optional<std::int64_t> JsonValue::to_int64() const noexcept {
  return whole_number<std::int64_t>(*this);
}

std::optional<std::uint64_t> JsonValue::to_uint64() const noexcept {
  return whole_number<std::uint64_t>(*this);
}

Result<JsonValue> parse_json(std::string_view text, std::size_t deepest) {
  return Builder(text, deepest).build();
}

Result<JsonPath> JsonPath::parse(std::string_view text) {
  const auto refuse = [text](const std::string& why) {
    return Error{Code::invalid_argument, "json.path",
                 "the path '" + std::string(text) + "' " + why +
                     "; write order.items.0.sku, or /order/items/0/sku where names hold dots"};
  };
  if (text.empty()) return refuse("is empty");
  const bool pointer = text.front() == '/';
  const char separator = pointer ? '/' : '.';
  JsonPath path{std::string(text), {}};
  std::string_view rest = pointer ? text.substr(1) : text;
  for (;;) {
    const auto end = std::min(rest.find(separator), rest.size());
    const std::string_view step = rest.substr(0, end);
    if (step.empty() && !pointer) return refuse("has an empty step");
    path.steps.push_back(pointer ? unescape_pointer(step) : std::string(step));
    if (end == rest.size()) return path;
    rest.remove_prefix(end + 1);
  }
}

std::vector<JsonFound> find_paths(std::string_view text, const std::vector<JsonPath>& paths,
                                  std::size_t deepest) {
  std::vector<JsonFound> found(paths.size());
  std::vector<Frame> frames;
  JsonScanner scanner(text, deepest);
  const auto next_item = [&frames] {
    if (!frames.empty() && !frames.back().is_object) ++frames.back().index;
  };
  for (;;) {
    const JsonToken token = scanner.next();
    if (token == JsonToken::end || token == JsonToken::mistake) return found;
    if (token == JsonToken::key) {
      frames.back().key = scanner.raw();
    } else if (const auto kind = kind_of(token)) {
      for (std::size_t i = 0; i < paths.size(); ++i) {
        visit(paths[i], frames, *kind, scanner.raw(), found[i]);
      }
      const bool container = *kind == JsonKind::object || *kind == JsonKind::array;
      if (container) frames.push_back({*kind == JsonKind::object, "\"\"", 0});
      if (!container) next_item();
    } else {
      frames.pop_back();
      next_item();
    }
  }
}

}  // namespace dlo
