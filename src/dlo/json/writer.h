#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/time.h"

namespace dlo {

/// Writes JSON text member by member. Text that is not UTF-8 is repaired with U+FFFD: bytes that
/// must survive go through `bytes`, which falls back to base64 and says so.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);
  JsonWriter& text(std::string_view value);
  JsonWriter& number(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& time(TimePoint value);
  /// JSON text that is already valid, as it stands.
  JsonWriter& raw(std::string_view json);

  JsonWriter& member(std::string_view name, std::string_view value) {
    return key(name).text(value);
  }
  JsonWriter& member(std::string_view name, std::uint64_t value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, TimePoint value) { return key(name).time(value); }
  JsonWriter& member(std::string_view name, const std::optional<TimePoint>& value) {
    return value ? key(name).time(*value) : key(name).null();
  }
  /// `name` with the bytes as text, or as base64 beside `<name>_encoding`.
  JsonWriter& bytes(std::string_view name, const std::optional<std::string>& value);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string out_;
  bool first_ = true;  // nothing in this object or array yet
  bool after_key_ = false;
};

}  // namespace dlo
