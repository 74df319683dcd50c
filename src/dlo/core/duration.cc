#include "dlo/core/duration.h"

#include <array>
#include <cstdint>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr std::array<Unit, 5> units = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

Error refuse(std::string_view text, std::string_view why) {
  return {
      Code::invalid_argument, "core.duration",
      in_quotes(text) + " is not a duration: " + std::string(why) +
          " Write numbers with a unit (ms, s, m, h, d), for example 500ms, 30s, 5m, 1h30m, 7d."};
}

/// A decimal number, exact: digits / 10^decimals.
struct Number {
  std::int64_t digits = 0;
  std::int64_t scale = 1;
};

std::optional<Number> take_number(std::string_view& text) {
  constexpr std::int64_t most = 1'000'000'000'000;  // ten years in ms are 3.2 * 10^11
  Number number;
  bool any = false;
  bool fraction = false;
  while (!text.empty() && (is_digit(text.front()) || (text.front() == '.' && !fraction && any))) {
    if (text.front() == '.') {
      fraction = true;
    } else {
      number.digits = number.digits * 10 + (text.front() - '0');
      if (fraction) number.scale *= 10;
      if (number.digits > most || number.scale > 1'000'000) return std::nullopt;
      any = true;
    }
    text.remove_prefix(1);
  }
  if (!any) return std::nullopt;
  return number;
}

/// The index of the unit at the front, or units.size().
std::size_t take_unit(std::string_view& text) {
  const std::size_t letters = text.find_first_of("0123456789.");
  const std::string_view name = text.substr(0, letters);
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].name == name) {
      text.remove_prefix(name.size());
      return i;
    }
  }
  return units.size();
}

}  // namespace

std::string print_duration(Millis duration) {
  if (duration.count() == 0) return "0s";
  for (const Unit& unit : units) {
    if (duration.count() % unit.millis == 0) {
      return std::to_string(duration.count() / unit.millis) + std::string(unit.name);
    }
  }
  return std::to_string(duration.count()) + "ms";
}

Result<Millis> parse_duration(std::string_view text) {
  if (text == "0") return Millis{0};
  if (text.empty()) return refuse(text, "it is empty.");
  if (text.front() == '-') return refuse(text, "it is negative.");
  std::string_view rest = text;
  std::int64_t sum = 0;
  std::size_t smallest_allowed = 0;
  while (!rest.empty()) {
    const auto number = take_number(rest);
    if (!number) return refuse(text, "a number is missing or too long.");
    const std::size_t unit = take_unit(rest);
    if (unit == units.size()) return refuse(text, "the unit is missing or unknown.");
    if (unit < smallest_allowed) return refuse(text, "units must go from large to small.");
    smallest_allowed = unit + 1;
    if (number->digits / number->scale > longest_duration.count() / units[unit].millis) {
      return refuse(text, "it exceeds ten years.");
    }
    const std::int64_t scaled = number->digits * units[unit].millis;  // cannot overflow after that
    if (scaled % number->scale != 0) return refuse(text, "it is finer than a millisecond.");
    sum += scaled / number->scale;
    if (sum > longest_duration.count()) return refuse(text, "it exceeds ten years.");
  }
  return Millis{sum};
}

}  // namespace dlo
