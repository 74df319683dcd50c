#include "dlo/json/fields.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dlo/core/encoding.h"
#include "dlo/core/spelling.h"

namespace dlo {

void JsonComplaints::add(const std::string& place, const std::string& what) {
  if (first_) return;
  first_ =
      Error{Code::invalid_argument, where_, (place.empty() ? "the document" : place) + " " + what};
}

JsonFields::JsonFields(const JsonValue& value, std::string place, JsonComplaints& complaints)
    : value_(value), place_(std::move(place)), complaints_(complaints) {
  if (value_.kind != JsonKind::object) {
    complaints_.add(place_, "must be an object, but is: " + std::string(name_of(value_.kind)));
  }
}

JsonFields::~JsonFields() {
  for (const JsonMember& member : value_.members) {
    if (known_.contains(member.name)) continue;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    complaints_.add(place_, "has an " + unknown_name("member", member.name, names));
  }
}

std::string JsonFields::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : place_ + "." + std::string(name);
}

void JsonFields::complain(std::string_view name, const std::string& what) {
  complaints_.add(place_of(name), what);
}

const JsonValue* JsonFields::find(std::string_view name) {
  known_.emplace(name);
  const JsonValue* found = value_.find(name);
  return found == nullptr || found->kind == JsonKind::null ? nullptr : found;
}

void JsonFields::require(std::string_view name) {
  if (!has(name)) complain(name, "is missing");
}

std::optional<std::string> JsonFields::base64(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  auto decoded = value->kind == JsonKind::string ? from_base64(value->text()) : std::nullopt;
  if (!decoded) complain(name, "is not base64 (RFC 4648, padded)");
  return decoded;
}

std::string JsonFields::text(std::string_view name) {
  const JsonValue* value = find(name);
  if (auto exact = base64(std::string(name) + "_base64")) return std::move(*exact);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::string) complain(name, "must be a string");
  return value->text();
}

std::optional<std::string> JsonFields::bytes(std::string_view name) {
  const JsonValue* value = find(name);
  const std::string encoding = text(std::string(name) + "_encoding");
  if (!encoding.empty() && encoding != "base64" && encoding != "utf8") {
    complain(std::string(name) + "_encoding", "must be utf8 or base64");
  }
  if (value == nullptr) return std::nullopt;
  if (encoding == "base64") return base64(name);
  if (value->kind != JsonKind::string) complain(name, "must be a string or null");
  return value->text();
}

std::string JsonFields::embedded(std::string_view name) {
  const JsonValue* value = find(name);
  const std::string text_name = std::string(name) + "_text";
  const bool exact = has(text_name);
  std::string all = text(text_name);
  if (exact) return all;
  return value == nullptr ? std::string() : std::string(value->raw);
}

std::uint64_t JsonFields::number(std::string_view name, std::uint64_t largest,
                                 std::uint64_t least) {
  const JsonValue* value = find(name);
  if (value == nullptr) return 0;
  const auto number = value->to_uint64();
  if (!number || *number < least || *number > largest) {
    complain(name, "must be a whole number from " + std::to_string(least) + " to " +
                       std::to_string(largest));
    return 0;
  }
  return *number;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->to_int64();
  if (!number) complain(name, "must be a whole number of 64 bits");
  return number;
}

bool JsonFields::boolean(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return false;
  if (value->kind != JsonKind::boolean) complain(name, "must be true or false");
  return value->raw == "true";
}

std::optional<TimePoint> JsonFields::time(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto time = parse_iso8601(value->text());
  if (!time) complain(name, "must be a time such as 2026-03-01T12:00:00.000Z");
  return time;
}

std::optional<std::size_t> JsonFields::choice(std::string_view name,
                                              std::span<const std::string_view> names) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::string given = value->text();
  const auto found = std::find(names.begin(), names.end(), given);
  if (found == names.end()) {
    complain(name, "is an " + unknown_name("name", given, names));
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::span<const JsonValue> JsonFields::items(std::string_view name, std::string_view example) {
  const JsonValue* value = find(name);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::array) {
    complain(name, "must be an array" +
                       (example.empty() ? std::string() : ", such as " + std::string(example)));
  }
  return value->items;
}

}  // namespace dlo
