#include "dlo/json/text/scanner.h"

#include <algorithm>

#include "dlo/core/encoding.h"

namespace dlo {

namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Ordinary inside a string: neither its end, an escape nor a control character.
bool is_plain(char c) noexcept {
  return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | point >> 6U);
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | point >> 12U);
    put(0x80U | (point >> 6U & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | point >> 18U);
    put(0x80U | (point >> 12U & 0x3FU));
    put(0x80U | (point >> 6U & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

/// The four hex digits after `\u` at `at`.
std::uint32_t hex4(std::string_view raw, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 4U | static_cast<std::uint32_t>(hex_value(raw[at + i]));
  }
  return value;
}

/// Appends what the escape at `at` (its backslash) means; answers how long the escape is.
std::size_t append_escape(std::string& out, std::string_view raw, std::size_t at) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const char letter = raw[at + 1];
  if (letter != 'u') {
    out += meanings[letters.find(letter)];
    return 2;
  }
  const std::uint32_t first = hex4(raw, at + 2);
  const bool high = first >= 0xD800 && first < 0xDC00;
  if (high && raw.substr(at + 6).starts_with("\\u")) {
    const std::uint32_t second = hex4(raw, at + 8);
    if (second >= 0xDC00 && second < 0xE000) {
      append_utf8(out, 0x10000U + ((first - 0xD800U) << 10U) + (second - 0xDC00U));
      return 12;
    }
  }
  append_utf8(out, first >= 0xD800 && first < 0xE000 ? 0xFFFDU : first);
  return 6;
}

}  // namespace

void JsonScanner::skip_blanks() noexcept {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
    ++at_;
  }
}

JsonToken JsonScanner::refuse(const char* what) {
  mistake_ = what;
  raw_ = {};
  return JsonToken::mistake;
}

JsonToken JsonScanner::done(std::size_t size, JsonToken token) {
  raw_ = text_.substr(at_, size);
  at_ += size;
  if (token == JsonToken::key) {
    expect_ = Expect::value;
  } else {
    expect_ = open_.empty() ? Expect::nothing : Expect::comma_or_end;
  }
  return token;
}

JsonToken JsonScanner::next() {
  if (mistake_ != nullptr) return JsonToken::mistake;
  skip_blanks();
  if (expect_ == Expect::comma_or_end) {
    if (peek() == (open_.back() == '{' ? '}' : ']')) return close(peek());
    if (peek() != ',') {
      return refuse(open_.back() == '{' ? "expected ',' or '}'" : "expected ',' or ']'");
    }
    ++at_;
    skip_blanks();
    expect_ = open_.back() == '{' ? Expect::key : Expect::value;
  }
  if (expect_ == Expect::nothing) {
    raw_ = {};
    return at_ == text_.size() ? JsonToken::end : refuse("expected nothing after the value");
  }
  if (expect_ == Expect::key_or_end && peek() == '}') return close('}');
  if (expect_ == Expect::key || expect_ == Expect::key_or_end) return key();
  if (expect_ == Expect::value_or_end && peek() == ']') return close(']');
  return value(peek());
}

JsonToken JsonScanner::value(char first) {
  switch (first) {
    case '{':
    case '[':
      return open(first);
    case '"':
      return string(JsonToken::string);
    case 't':
      return word("true", JsonToken::boolean);
    case 'f':
      return word("false", JsonToken::boolean);
    case 'n':
      return word("null", JsonToken::null);
    default:
      return first == '-' || is_digit(first) ? number() : refuse("expected a value");
  }
}

JsonToken JsonScanner::open(char bracket) {
  if (open_.size() >= deepest_) return refuse("nested too deeply");
  open_ += bracket;
  raw_ = text_.substr(at_++, 1);
  expect_ = bracket == '{' ? Expect::key_or_end : Expect::value_or_end;
  return bracket == '{' ? JsonToken::begin_object : JsonToken::begin_array;
}

JsonToken JsonScanner::close(char bracket) {
  open_.pop_back();
  return done(1, bracket == '}' ? JsonToken::end_object : JsonToken::end_array);
}

JsonToken JsonScanner::key() {
  if (peek() != '"') return refuse("expected a key in double quotes");
  const JsonToken token = string(JsonToken::key);
  if (token == JsonToken::mistake) return token;
  const std::string_view name = raw_;
  skip_blanks();
  if (peek() != ':') return refuse("expected ':'");
  ++at_;
  raw_ = name;
  return token;
}

bool JsonScanner::escape() {
  const char letter = peek(1);
  if (letter == 'u') {
    for (std::size_t i = 2; i < 6; ++i) {
      if (hex_value(peek(i)) < 0) return false;
    }
    at_ += 6;
    return true;
  }
  at_ += 2;
  return letter != '\0' && std::string_view("\"\\/bfnrt").find(letter) != std::string_view::npos;
}

JsonToken JsonScanner::string(JsonToken as) {
  const std::size_t begin = at_++;
  for (;;) {
    const auto* from = text_.data() + at_;
    const auto* stop = std::find_if_not(from, text_.data() + text_.size(), is_plain);
    at_ += static_cast<std::size_t>(stop - from);
    if (at_ == text_.size()) return refuse("a string is not closed");
    if (text_[at_] == '"') break;
    if (text_[at_] != '\\') return refuse("a control character must be escaped in a string");
    const std::size_t escaped = at_;
    if (!escape()) {
      at_ = escaped;
      return refuse("bad escape in a string");
    }
  }
  const std::size_t size = at_ + 1 - begin;
  at_ = begin;
  if (!is_utf8(text_.substr(begin, size))) return refuse("a string is not UTF-8");
  return done(size, as);
}

std::size_t JsonScanner::digits(std::size_t from) const noexcept {
  std::size_t end = from;
  while (is_digit(peek(end))) ++end;
  return end - from;
}

JsonToken JsonScanner::number() {
  std::size_t size = peek() == '-' ? 1 : 0;
  const std::size_t whole = digits(size);
  if (whole == 0) return refuse("expected a digit after '-'");
  if (whole > 1 && peek(size) == '0') return refuse("a number has a leading zero");
  size += whole;
  if (peek(size) == '.') {
    const std::size_t fraction = digits(size + 1);
    if (fraction == 0) return refuse("expected a digit after '.' in a number");
    size += 1 + fraction;
  }
  if (peek(size) == 'e' || peek(size) == 'E') {
    const std::size_t sign = peek(size + 1) == '+' || peek(size + 1) == '-' ? 1 : 0;
    const std::size_t exponent = digits(size + 1 + sign);
    if (exponent == 0) return refuse("expected a digit in the exponent of a number");
    size += 1 + sign + exponent;
  }
  return done(size, JsonToken::number);
}

JsonToken JsonScanner::word(std::string_view expected, JsonToken as) {
  if (!text_.substr(at_).starts_with(expected)) return refuse("expected a value");
  return done(expected.size(), as);
}

std::string JsonScanner::mistake() const {
  if (mistake_ == nullptr) return {};
  std::string out = mistake_;
  if (at_ >= text_.size()) {
    out += ", found the end";
  } else {
    const char c = text_[at_];
    const bool printable = c > ' ' && c <= '~';
    out += printable ? std::string(", found '") + c + "'"
                     : ", found byte " + std::to_string(static_cast<unsigned char>(c));
  }
  const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_begin = before.rfind('\n');
  const std::size_t column =
      line_begin == std::string_view::npos ? before.size() + 1 : before.size() - line_begin;
  return out + " at line " + std::to_string(line) + ", column " + std::to_string(column) +
         " (byte " + std::to_string(before.size()) + ")";
}

std::optional<std::string> json_mistake(std::string_view text, std::size_t deepest) {
  JsonScanner scanner(text, deepest);
  for (;;) {
    const JsonToken token = scanner.next();
    if (token == JsonToken::end) return std::nullopt;
    if (token == JsonToken::mistake) return scanner.mistake();
  }
}

std::string json_unescape(std::string_view raw) {
  raw = raw.substr(1, raw.size() - 2);
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const auto escape = std::min(raw.find('\\'), raw.size());
    out += raw.substr(0, escape);
    raw.remove_prefix(escape);
    if (!raw.empty()) raw.remove_prefix(append_escape(out, raw, 0));
  }
  return out;
}

}  // namespace dlo
