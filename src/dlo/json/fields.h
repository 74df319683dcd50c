#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dlo/core/error.h"
#include "dlo/core/time.h"
#include "dlo/json/text/value.h"

namespace dlo {

/// The first thing that is wrong with a document, with its place in it.
class JsonComplaints {
 public:
  explicit JsonComplaints(std::string where = "json.record") : where_(std::move(where)) {}
  void add(const std::string& place, const std::string& what);
  [[nodiscard]] const std::optional<Error>& first() const noexcept { return first_; }

 private:
  std::string where_;
  std::optional<Error> first_;
};

/// Reads the members of an object by name and remembers which ones were asked for. A missing
/// member answers the default, a wrong one the default and a complaint.
class JsonFields {
 public:
  /// `place` is the path of the object, empty at the top. Complains if `value` is no object.
  JsonFields(const JsonValue& value, std::string place, JsonComplaints& complaints);
  /// Complains about members that nobody asked for.
  ~JsonFields();
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;

  /// Null if the member is missing or null.
  [[nodiscard]] const JsonValue* find(std::string_view name);
  [[nodiscard]] bool has(std::string_view name) { return find(name) != nullptr; }
  void require(std::string_view name);

  [[nodiscard]] std::string text(std::string_view name);                  // also from `_base64`
  [[nodiscard]] std::optional<std::string> bytes(std::string_view name);  // heeds `_encoding`
  [[nodiscard]] std::string embedded(std::string_view name);              // also from `_text`
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t largest = UINT64_MAX,
                                     std::uint64_t least = 0);
  [[nodiscard]] std::uint32_t small(std::string_view name) {
    return static_cast<std::uint32_t>(number(name, UINT32_MAX));
  }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name);
  [[nodiscard]] Millis millis(std::string_view name) { return Millis{integer(name).value_or(0)}; }
  [[nodiscard]] bool boolean(std::string_view name);
  [[nodiscard]] std::optional<TimePoint> time(std::string_view name);
  /// A string that must be one of `names`; answers its place among them.
  [[nodiscard]] std::optional<std::size_t> choice(std::string_view name,
                                                  std::span<const std::string_view> names);
  /// The elements of an array. `example` shows whoever got it wrong what was expected.
  [[nodiscard]] std::span<const JsonValue> items(std::string_view name,
                                                 std::string_view example = {});

  [[nodiscard]] std::string place_of(std::string_view name) const;
  void complain(std::string_view name, const std::string& what);
  [[nodiscard]] JsonComplaints& complaints() noexcept { return complaints_; }

 private:
  std::optional<std::string> base64(std::string_view name);

  const JsonValue& value_;
  std::string place_;
  JsonComplaints& complaints_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace dlo
