#include "dlo/core/text_tree.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t deepest = 16;
constexpr std::size_t longest_text = 1024 * 1024;
constexpr std::string_view spaces = " \t";

Error refuse(std::size_t line, const std::string& why) {
  return {Code::invalid_argument, "core.text", "line " + std::to_string(line) + ": " + why};
}

struct Line {
  std::size_t number = 0;
  std::size_t indent = 0;
  std::string_view content;  // no indent, no trailing space; never empty
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && spaces.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  while (!text.empty() && spaces.find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  return text;
}

Result<std::vector<Line>> split(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view content = trimmed(line.substr(indent));
    if (content.empty() || content.front() == '#') continue;
    if (line[indent] == '\t') return refuse(number, "indent with spaces, not with tabs.");
    if (content == "---" && lines.empty()) continue;
    lines.push_back({number, indent, content});
  }
  return lines;
}

std::optional<std::uint32_t> hex_digits(std::string_view text) {
  std::uint32_t value = 0;
  for (const char c : text) {
    const char lower = ascii_lower(c);
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

void append_code_point(std::string& out, std::uint32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Reads one escape after its backslash; false if there is no such escape.
bool take_escape(std::string_view& text, std::string& out) {
  if (text.empty()) return false;
  constexpr std::string_view names = "\"\\/0abefnrtv";
  constexpr std::string_view values{"\"\\/\0\a\b\x1b\f\n\r\t\v", 12};
  const char name = text.front();
  text.remove_prefix(1);
  if (const std::size_t at = names.find(name); at != std::string_view::npos) {
    out += values[at];
    return true;
  }
  const std::size_t digits = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
  if (digits == 0 || text.size() < digits) return false;
  const auto code = hex_digits(text.substr(0, digits));
  if (!code || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff)) return false;
  append_code_point(out, *code);
  text.remove_prefix(digits);
  return true;
}

/// Takes a quoted scalar off the front of `text`, which begins with its quote.
Result<std::string> take_quoted(std::string_view& text, std::size_t line) {
  const char quote = text.front();
  text.remove_prefix(1);
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == quote) {
      if (quote == '"' || text.empty() || text.front() != '\'') return out;
      out += '\'';
      text.remove_prefix(1);
    } else if (c == '\\' && quote == '"') {
      if (!take_escape(text, out)) return refuse(line, "unknown escape after \\ in quoted text.");
    } else {
      out += c;
    }
  }
  return refuse(line, "a quote is opened and never closed.");
}

/// Whether YAML would take the first character for something else than text.
bool needs_quotes(std::string_view text) {
  constexpr std::string_view always = "&*!|>%@`\"'{}[],#";
  constexpr std::string_view before_space = "-?:";
  if (always.find(text.front()) != std::string_view::npos) return true;
  return before_space.find(text.front()) != std::string_view::npos &&
         (text.size() == 1 || text[1] == ' ');
}

bool is_comment(std::string_view rest) {
  const std::string_view text = trimmed(rest);
  return text.empty() || (text.front() == '#' && text.size() < rest.size());
}

Result<std::string> plain(std::string_view text, std::size_t line) {
  const std::size_t comment = text.find(" #");
  text = trimmed(text.substr(0, comment));
  if (text.empty()) return refuse(line, "a value is missing.");
  if (needs_quotes(text) || text.find(": ") != std::string_view::npos || text.back() == ':') {
    return refuse(line, in_quotes(text) + " must be put in double quotes.");
  }
  return std::string(text);
}

/// [a, "b, c", d] on one line, scalars only.
Result<TextNode> flow_list(std::string_view text, std::size_t line) {
  TextNode node;
  node.kind = TextNode::Kind::list;
  node.line = line;
  text.remove_prefix(1);
  while (true) {
    text = trimmed(text);
    if (text.empty()) return refuse(line, "a list opened with [ must be closed with ].");
    if (text.front() == ']' && node.list.empty()) break;
    TextNode item;
    item.line = line;
    if (text.front() == '"' || text.front() == '\'') {
      auto scalar = take_quoted(text, line);
      if (!scalar) return scalar.error();
      item.scalar = std::move(*scalar);
    } else {
      const std::size_t end = std::min(text.find_first_of(",]"), text.size());
      auto scalar = plain(text.substr(0, end), line);
      if (!scalar) return scalar.error();
      item.scalar = std::move(*scalar);
      text.remove_prefix(end);
    }
    node.list.push_back(std::move(item));
    text = trimmed(text);
    if (!text.empty() && text.front() == ',') {
      text.remove_prefix(1);
    } else if (text.empty() || text.front() != ']') {
      return refuse(line, "items of a list are separated by commas and end with ].");
    } else {
      break;
    }
  }
  if (!is_comment(text.substr(1))) return refuse(line, "nothing may follow a closed list.");
  return node;
}

class Parser {
 public:
  explicit Parser(std::vector<Line> lines) : lines_(std::move(lines)) {}

  Result<TextNode> document() {
    if (lines_.empty()) return refuse(1, "the text is empty.");
    auto node = block(lines_.front().indent, 0);
    if (node && at_ < lines_.size()) {
      return refuse(lines_[at_].number, "this line is indented unlike its neighbours.");
    }
    return node;
  }

 private:
  static bool is_item(std::string_view content) {
    return content == "-" || content.starts_with("- ");
  }

  Result<TextNode> block(std::size_t indent, std::size_t depth) {
    if (depth > deepest) return refuse(lines_[at_].number, "nested too deeply.");
    return is_item(lines_[at_].content) ? list(indent, depth) : map(indent, depth);
  }

  bool more_at(std::size_t indent) const {
    return at_ < lines_.size() && lines_[at_].indent == indent;
  }

  Result<TextNode> list(std::size_t indent, std::size_t depth) {
    TextNode node;
    node.kind = TextNode::Kind::list;
    node.line = lines_[at_].number;
    while (more_at(indent) && is_item(lines_[at_].content)) {
      Line& line = lines_[at_];
      const std::string_view rest = trimmed(line.content.substr(1));
      auto item = rest.empty() || rest.front() == '#' ? nested(indent, depth, line.number)
                                                      : item_on_line(line, rest, depth);
      if (!item) return item;
      node.list.push_back(std::move(*item));
    }
    return node;
  }

  /// "- name: x" begins a map whose other keys stand under `name`.
  Result<TextNode> item_on_line(Line& line, std::string_view rest, std::size_t depth) {
    const auto key = take_key(rest, line.number);
    if (key && *key) {
      line.indent += static_cast<std::size_t>(rest.data() - line.content.data());
      line.content = rest;
      return map(line.indent, depth + 1);
    }
    ++at_;
    return value(rest, line.number);
  }

  Result<TextNode> map(std::size_t indent, std::size_t depth) {
    TextNode node;
    node.kind = TextNode::Kind::map;
    node.line = lines_[at_].number;
    while (more_at(indent) && !is_item(lines_[at_].content)) {
      const Line line = lines_[at_];
      auto key = take_key(line.content, line.number);
      if (!key) return key.error();
      if (!*key)
        return refuse(line.number, "write `name: value`; found " + in_quotes(line.content));
      for (const auto& [known, ignored] : node.map) {
        if (known == (*key)->name) {
          return refuse(line.number, in_quotes(known) + " is given twice.");
        }
      }
      const std::string_view rest = trimmed((*key)->rest);
      auto item = rest.empty() || rest.front() == '#' ? nested(indent, depth, line.number)
                                                      : (++at_, value(rest, line.number));
      if (!item) return item;
      node.map.push_back({std::move((*key)->name), std::move(*item)});
    }
    return node;
  }

  /// What stands indented under the current line. A list may also stand at the same indent.
  Result<TextNode> nested(std::size_t indent, std::size_t depth, std::size_t line) {
    const bool under_key = !is_item(lines_[at_].content);
    ++at_;
    if (at_ >= lines_.size()) return refuse(line, "its value is missing.");
    const Line& next = lines_[at_];
    const bool list_here = under_key && next.indent == indent && is_item(next.content);
    if (next.indent <= indent && !list_here) return refuse(line, "its value is missing.");
    return block(next.indent, depth + 1);
  }

  struct Key {
    std::string name;
    std::string_view rest;
  };

  /// Empty if the line holds no `key:`.
  static Result<std::optional<Key>> take_key(std::string_view content, std::size_t line) {
    std::string name;
    std::string_view rest = content;
    if (content.front() == '"' || content.front() == '\'') {
      auto taken = take_quoted(rest, line);
      if (!taken) return taken.error();
      name = std::move(*taken);
    } else {
      const std::size_t colon = std::min(content.find(": "), content.size() - 1);
      if (content[colon] != ':' || needs_quotes(content)) {
        return std::optional<Key>();
      }
      name = trimmed(content.substr(0, colon));
      rest = content.substr(colon);
    }
    if (rest.empty() || rest.front() != ':' || (rest.size() > 1 && rest[1] != ' ')) {
      return std::optional<Key>();
    }
    return std::optional<Key>({std::move(name), rest.substr(1)});
  }

  static Result<TextNode> value(std::string_view text, std::size_t line) {
    TextNode node;
    node.line = line;
    if (text.front() == '[') return flow_list(text, line);
    if (text.starts_with("{}") && is_comment(text.substr(2))) {
      node.kind = TextNode::Kind::map;
      return node;
    }
    if (text.front() == '"' || text.front() == '\'') {
      auto scalar = take_quoted(text, line);
      if (!scalar) return scalar.error();
      if (!is_comment(text)) return refuse(line, "nothing may follow quoted text.");
      node.scalar = std::move(*scalar);
      return node;
    }
    auto scalar = plain(text, line);
    if (!scalar) return scalar.error();
    node.scalar = std::move(*scalar);
    return node;
  }

  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

bool is_safe_plain(std::string_view text) {
  constexpr std::array<std::string_view, 10> taken = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n",  "nan"};
  if (text.empty() || text.size() > 120 || text.back() == ' ') return false;
  const char first = ascii_lower(text.front());
  if (first < 'a' || first > 'z') return false;
  for (const char c : text) {
    const char lower = ascii_lower(c);
    const bool plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("_.+=-, /").find(c) != std::string_view::npos;
    if (!plain) return false;
  }
  return std::find(taken.begin(), taken.end(), ascii_lower(text)) == taken.end();
}

/// Code points that YAML, or a terminal, would not show as they are.
bool needs_escape(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
         c == 0xfffe || c == 0xffff;
}

std::uint32_t code_point(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes[i]) & 0xff; };
  if (bytes.size() == 1) return at(0);
  std::uint32_t value = at(0) & (0xffU >> (bytes.size() + 1));
  for (std::size_t i = 1; i < bytes.size(); ++i) value = (value << 6) | (at(i) & 0x3f);
  return value;
}

void append_escape(std::string& out, std::uint32_t c) {
  constexpr std::string_view hex = "0123456789abcdef";
  const int digits = c < 0x100 ? 2 : 4;
  out += digits == 2 ? "\\x" : "\\u";
  for (int i = digits - 1; i >= 0; --i) out += hex[(c >> (4 * i)) & 15];
}

}  // namespace

Result<TextNode> parse_text_tree(std::string_view text) {
  if (text.size() > longest_text) return refuse(1, "the text is longer than 1 MB.");
  if (!is_utf8(text)) return refuse(1, "the text is not UTF-8.");
  auto lines = split(text);
  if (!lines) return lines.error();
  return Parser(std::move(*lines)).document();
}

std::string print_scalar(std::string_view text) {
  if (is_safe_plain(text)) return std::string(text);
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const std::string_view bytes = text.substr(i, length);
    const std::uint32_t c = code_point(bytes);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += bytes;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (needs_escape(c)) {
      append_escape(out, c);
    } else {
      out += bytes;
    }
    i += length;
  }
  return out + "\"";
}

}  // namespace dlo
