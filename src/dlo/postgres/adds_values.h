#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "dlo/core/id.h"
#include "dlo/core/time.h"

namespace dlo::postgres {

/// How our values become those of the server: every integer, enumeration and time is a number,
/// every text and id bytes, and what is not there is null. `Into` takes these: `add_number`,
/// `add_bytes`, `add_id` and `add_null`, which is told whether bytes are missing.
template <typename Into>
class AddsValues {
 public:
  template <typename Number>
    requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void add(Number value) {
    into().add_number(static_cast<std::int64_t>(value));
  }
  template <typename Value>
  void add(const std::optional<Value>& value) {
    if (value) return into().add(*value);
    into().add_null(std::is_constructible_v<std::string_view, Value> ||
                    std::is_base_of_v<Id128, Value>);
  }
  void add(TimePoint value) { into().add_number(value.time_since_epoch().count()); }
  void add(std::string_view value) { into().add_bytes(value); }
  void add(const std::string& value) { into().add_bytes(value); }
  void add(const char* value) { into().add_bytes(value); }
  void add(const Id128& value) { into().add_id(value); }

 private:
  friend Into;
  AddsValues() = default;
  [[nodiscard]] Into& into() noexcept { return static_cast<Into&>(*this); }
};

}  // namespace dlo::postgres
