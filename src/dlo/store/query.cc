#include "dlo/store/query.h"

#include <algorithm>
#include <charconv>

namespace dlo {
namespace {

constexpr std::string_view by_arrival = "arrival";

/// Digits with an optional minus, the whole of `text`.
std::optional<std::int64_t> parse_whole(std::string_view text) noexcept {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

bool takes(const ClaimFrom& from, const std::string& source) noexcept {
  if (!from.source.empty()) return source == from.source;
  return !std::ranges::binary_search(from.without, source);
}

std::string to_string(const Cursor& cursor) {
  if (cursor.walk == Walk::by_arrival) {
    return std::string(by_arrival) + "." + std::to_string(cursor.number);
  }
  return std::to_string(cursor.died_at.time_since_epoch().count()) + "." +
         std::to_string(cursor.number);
}

std::optional<Cursor> parse_cursor(std::string_view text) noexcept {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto number = parse_whole(text.substr(dot + 1));
  if (!number) return std::nullopt;
  if (text.substr(0, dot) == by_arrival) return Cursor{TimePoint{}, *number, Walk::by_arrival};
  const auto died_at = parse_whole(text.substr(0, dot));
  if (!died_at) return std::nullopt;
  return Cursor{TimePoint{Millis{*died_at}}, *number};
}

}  // namespace dlo
