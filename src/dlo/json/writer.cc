#include "dlo/json/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "dlo/core/encoding.h"
#include "dlo/json/text/scanner.h"

namespace dlo {
namespace {

bool is_plain(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return c != '"' && c != '\\' && byte >= 0x20U && byte != 0x7FU;
}

/// How many bytes at the front stand in a string as they are; eight at a time, since most do.
std::size_t plain_run(std::string_view text) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101ULL;
  constexpr std::uint64_t tops = ones << 7U;
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    const auto below = [word](std::uint64_t limit) { return (word - limit * ones) & ~word; };
    const auto has = [word](std::uint64_t byte) {
      const std::uint64_t other = word ^ (byte * ones);
      return (other - ones) & ~other;
    };
    if (((below(0x20) | has('"') | has('\\') | has(0x7F)) & tops) != 0) break;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  constexpr std::string_view special = "\"\\\b\f\n\r\t";
  constexpr std::string_view letters = "\"\\bfnrt";
  if (const auto at = special.find(c); at != std::string_view::npos) {
    out += '\\';
    out += letters[at];
    return;
  }
  const auto byte = static_cast<unsigned char>(c);
  out += "\\u00";
  out += hex[byte >> 4U];
  out += hex[byte & 0xFU];
}

void append_quoted(std::string& out, std::string_view utf8) {
  out += '"';
  while (!utf8.empty()) {
    const std::size_t run = plain_run(utf8);
    out += utf8.substr(0, run);
    utf8.remove_prefix(run);
    if (utf8.empty()) break;
    append_escape(out, utf8.front());
    utf8.remove_prefix(1);
  }
  out += '"';
}

/// `json` token by token without the blanks between them. Empty if it is not JSON.
std::string without_blanks(std::string_view json) {
  std::string out;
  JsonScanner scanner(json);
  bool first = true;
  for (;;) {
    const JsonToken token = scanner.next();
    if (token == JsonToken::mistake) return {};
    if (token == JsonToken::end) return out;
    const bool closes = token == JsonToken::end_object || token == JsonToken::end_array;
    if (!first && !closes) out += ',';
    out += scanner.raw();
    if (token == JsonToken::key) out += ':';
    first = token == JsonToken::key || token == JsonToken::begin_object ||
            token == JsonToken::begin_array;
  }
}

}  // namespace

void JsonWriter::separate() {
  if (!first_ && !after_key_) out_ += ',';
  first_ = false;
  after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  if (out_.empty()) out_.reserve(256);
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  if (is_utf8(value)) {
    append_quoted(out_, value);
  } else {
    append_quoted(out_, to_utf8(value));
  }
  return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return raw({digits.data(), static_cast<std::size_t>(end - digits.data())});
}
JsonWriter& JsonWriter::number(std::uint64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return raw({digits.data(), static_cast<std::size_t>(end - digits.data())});
}
JsonWriter& JsonWriter::boolean(bool value) {
  return raw(value ? "true" : "false");
}
JsonWriter& JsonWriter::null() {
  return raw("null");
}
JsonWriter& JsonWriter::time(TimePoint value) {
  return text(to_iso8601(value));
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::member(std::string_view name, std::string_view value) {
  key(name);
  if (is_utf8(value)) {
    separate();
    append_quoted(out_, value);
    return *this;
  }
  return text(value).key(std::string(name) + "_base64").text(to_base64(value));
}

JsonWriter& JsonWriter::bytes(std::string_view name, const std::optional<std::string>& value) {
  if (!value) return key(name).null();
  if (is_utf8(*value)) return member(name, *value);
  return member(name, to_base64(*value)).member(std::string(name) + "_encoding", "base64");
}

JsonWriter& JsonWriter::embed(std::string_view name, std::string_view json) {
  if (json.empty()) return key(name).null();
  const std::string compact = without_blanks(json);
  key(name).raw(compact.empty() ? "null" : compact);
  const bool is_exact = compact == json && json != "null";  // null alone reads as "nothing there"
  return is_exact ? *this : member(std::string(name) + "_text", json);
}

JsonWriter& JsonWriter::embed_or_bytes(std::string_view name, const std::string& json) {
  const std::string compact = without_blanks(json);
  return compact.empty() ? bytes(name, json) : key(name).raw(compact);
}

}  // namespace dlo
