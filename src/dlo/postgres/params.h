#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/core/time.h"

namespace dlo::postgres {

/// The values of one statement in the server's binary form. Every integer and enumeration is a
/// bigint, every text and id a bytea: all bytes are kept as they are, and compared as bytes. Views
/// are not copied: they must live until the statement has been sent.
class Params {
 public:
  template <typename... Values>
  explicit Params(const Values&... values) {
    (add(values), ...);
  }

  template <typename Number>
    requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void add(Number value) {
    add_number(static_cast<std::int64_t>(value));
  }
  template <typename Value>
  void add(const std::optional<Value>& value) {
    if (value) {
      add(*value);
    } else {
      add_null(std::is_constructible_v<std::string_view, Value> || std::is_base_of_v<Id128, Value>);
    }
  }
  void add(TimePoint value) { add_number(value.time_since_epoch().count()); }
  void add(std::string_view value);
  void add(const std::string& value) { add(std::string_view(value)); }
  void add(const char* value) { add(std::string_view(value)); }
  void add(const Id128& value);
  void add(const std::vector<std::int64_t>& values);  // bigint[]
  void add(const std::vector<std::int32_t>& values);  // integer[]
  void add(const std::optional<std::vector<std::int32_t>>& values);
  void add(const std::vector<std::string>& values);  // bytea[]
  void add(const std::vector<Id128>& values);        // bytea[]

  /// What is in the binary form of `type` already.
  void add_borrowed(std::uint32_t type, std::string_view bytes);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(types_.size()); }
  [[nodiscard]] const std::vector<std::uint32_t>& types() const noexcept { return types_; }
  /// As libpq wants them: pointers (null for NULL) and lengths.
  void lay_out(std::vector<const char*>& values, std::vector<int>& lengths) const;
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Place {
    const char* borrowed = nullptr;  // else inside `kept_`
    std::size_t offset = 0;
    std::size_t size = 0;
    bool null = false;
  };
  void add_number(std::int64_t value);
  void add_null(bool is_bytes);
  void add_kept(std::uint32_t type, std::string_view bytes);

  std::string kept_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> types_;
};

/// 16 bytes, the most significant first.
[[nodiscard]] std::string bytes_of(const Id128& id);

}  // namespace dlo::postgres
