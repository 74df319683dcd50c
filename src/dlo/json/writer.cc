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

constexpr std::uint64_t ones = 0x0101010101010101ULL;
constexpr std::uint64_t tops = ones << 7U;

/// Zero: none of these eight bytes has to be written in another way.
constexpr std::uint64_t not_plain(std::uint64_t word) noexcept {
  const auto below = [word](std::uint64_t limit) { return (word - limit * ones) & ~word; };
  const auto has = [word](std::uint64_t byte) {
    const std::uint64_t other = word ^ (byte * ones);
    return (other - ones) & ~other;
  };
  return (below(0x20) | has('"') | has('\\') | has(0x7F)) & tops;
}

/// How many bytes at the front stand in a string as they are; eight at a time, since most do.
std::size_t plain_run(std::string_view text) noexcept {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (not_plain(word) != 0) break;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

/// ASCII that stands in a string as it is: most of what is ever written, and all names.
bool is_plain_ascii(std::string_view text) noexcept {
  std::uint64_t word = 0;
  const auto is_good = [&word] { return (not_plain(word) | (word & tops)) == 0; };
  if (text.size() < sizeof word) {
    word = ones * ' ';
    if (!text.empty()) std::memcpy(&word, text.data(), text.size());
    return is_good();
  }
  for (std::size_t at = 0; at + sizeof word < text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (!is_good()) return false;
  }
  std::memcpy(&word, text.data() + text.size() - sizeof word, sizeof word);
  return is_good();
}

void append_plain(std::string& out, bool comma, std::string_view plain, bool colon) {
  const std::size_t before = out.size();
  out.resize(before + plain.size() + 2 + (comma ? 1U : 0U) + (colon ? 1U : 0U));
  char* to = out.data() + before;
  if (comma) *to++ = ',';
  *to++ = '"';
  to = std::copy(plain.begin(), plain.end(), to);
  *to++ = '"';
  if (colon) *to = ':';
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
  if (is_plain_ascii(name)) {
    append_plain(out_, !first_ && !after_key_, name, true);
    first_ = false;
  } else {
    text(name);
    out_ += ':';
  }
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  if (is_plain_ascii(value)) {
    append_plain(out_, !first_ && !after_key_, value, false);
    first_ = after_key_ = false;
    return *this;
  }
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
  if (is_plain_ascii(value) || is_utf8(value)) return text(value);
  return text(value).key(std::string(name) + "_base64").text(to_base64(value));
}

JsonWriter& JsonWriter::bytes(std::string_view name, const std::optional<std::string>& value) {
  if (!value) return key(name).null();
  if (is_plain_ascii(*value) || is_utf8(*value)) return key(name).text(*value);
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
