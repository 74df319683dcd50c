#include "dlo/core/format_time.h"

#include <array>
#include <limits>
#include <string_view>

#include "dlo/core/encoding.h"

namespace dlo {

std::string to_iso8601_ticks(TimePoint time) {
  std::string text = to_iso8601(time);
  text.insert(text.size() - 1, "0000");
  return text;
}

std::string to_iso8601_short(TimePoint time) {
  std::string text = to_iso8601(time);
  text.pop_back();
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text + "Z";
}

std::string human_duration(Millis duration) {
  if (duration == Millis::min()) duration = Millis::min() + Millis{1};
  if (duration < Millis{0}) return "-" + human_duration(-duration);
  Millis::rep left = duration.count();
  if (left < 1000) return std::to_string(left) + " ms";
  if (left < 60'000) {
    std::string text = std::to_string(left / 1000);
    const Millis::rep tenths = left % 1000 / 100;
    if (left < 10'000 && tenths > 0) text += "." + std::to_string(tenths);
    return text + " s";
  }
  struct Unit {
    Millis::rep size;
    std::string_view name;
  };
  constexpr std::array<Unit, 4> units = {
      {{86'400'000, " d"}, {3'600'000, " h"}, {60'000, " min"}, {1000, " s"}}};
  std::size_t largest = 0;
  while (left < units[largest].size) ++largest;
  std::string text = std::to_string(left / units[largest].size).append(units[largest].name);
  left %= units[largest].size;
  const Unit& next = units[largest + 1];
  if (left >= next.size)
    text.append(" ").append(std::to_string(left / next.size)).append(next.name);
  return text;
}

}  // namespace dlo
