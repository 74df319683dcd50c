#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/core/time.h"

namespace dlo {

/// Writes JSON text on one line, member by member. Nothing is lost: what JSON cannot hold as it is
/// (bytes that are not UTF-8) is written readably and, beside it, exactly.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);
  JsonWriter& text(std::string_view value);  // ill-formed UTF-8 becomes U+FFFD
  JsonWriter& number(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& time(TimePoint value);
  /// JSON text that is already valid, as it stands.
  JsonWriter& raw(std::string_view json);

  /// Text for people. If it is not UTF-8 it is repaired, and `<name>_base64` has the exact bytes.
  JsonWriter& member(std::string_view name, std::string_view value);
  JsonWriter& member(std::string_view name, std::uint64_t value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, TimePoint value) { return key(name).time(value); }
  JsonWriter& member(std::string_view name, const std::optional<TimePoint>& value) {
    return value ? key(name).time(*value) : key(name).null();
  }
  /// Bytes: as text if they are UTF-8, else as base64 beside `<name>_encoding`.
  JsonWriter& bytes(std::string_view name, const std::optional<std::string>& value);
  /// JSON text of unknown quality: embedded without its blanks, numbers untouched. If that is not
  /// all of it (blanks, or it is no JSON at all) `<name>_text` has it exactly. Empty: null.
  JsonWriter& embed(std::string_view name, std::string_view json);

  /// The same where one name is all there is: what is no JSON is written as `bytes`.
  JsonWriter& embed_or_bytes(std::string_view name, const std::string& json);

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
