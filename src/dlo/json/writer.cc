#include "dlo/json/writer.h"

#include "dlo/core/encoding.h"

namespace dlo {
namespace {

void append_escaped(std::string& out, std::string_view utf8) {
  constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20U || byte == 0x7FU) {
      out += "\\u00";
      out += hex[byte >> 4U];
      out += hex[byte & 0xFU];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (!first_ && !after_key_) out_ += ',';
  first_ = false;
  after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
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
    append_escaped(out_, value);
  } else {
    append_escaped(out_, to_utf8(value));
  }
  return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
  return raw(std::to_string(value));
}
JsonWriter& JsonWriter::number(std::uint64_t value) {
  return raw(std::to_string(value));
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

JsonWriter& JsonWriter::bytes(std::string_view name, const std::optional<std::string>& value) {
  if (!value) return key(name).null();
  if (is_utf8(*value)) return member(name, *value);
  member(name, to_base64(*value));
  return member(std::string(name) + "_encoding", "base64");
}

}  // namespace dlo
