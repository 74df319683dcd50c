#include "dlo/core/normalise_times.h"

#include <algorithm>

namespace dlo {
namespace {

using namespace normalise_tables;  // NOLINT: made for this file and its like
using namespace byte_class;        // NOLINT
constexpr auto npos = std::string_view::npos;

/// Where a date of this shape ends that begins at `at`.
std::size_t match(const TextLook& look, std::size_t at, std::string_view pattern) {
  std::size_t i = at;
  for (const char p : pattern) {
    if (p == 'Y' || p == 'D' || p == 'd') {
      const std::size_t run = look.skip(i, is_digit) - i;
      const bool fits = p == 'Y' ? run == 4 : p == 'D' ? run == 2 : run == 1 || run == 2;
      if (!fits) return npos;
      i += run;
    } else if (p == 'M' || p == 'W') {
      const std::size_t end = look.skip(i, is_alpha);
      if (end - i < 3 || end - i > 9) return npos;
      const std::string_view name = look.slice(i, i + 3);
      if (p == 'M' ? !months.has(name) : !weekdays.has(name)) return npos;
      i = end;
    } else if (look.peek(i++) != p) {
      return npos;
    }
  }
  return i;
}

std::size_t zone_end(const TextLook& look, std::size_t i) {
  if (look.peek(i) == 'Z' && !is_alnum(look.peek(i + 1))) return i + 1;
  const std::size_t zone = i + (look.peek(i) == ' ' ? 1 : 0);
  for (const std::string_view name : {"UTC", "GMT", "CET", "CEST", "EST", "EDT", "PST", "PDT"}) {
    if (look.text.substr(std::min(zone, look.text.size()), name.size()) == name &&
        !is_alnum(look.peek(zone + name.size()))) {
      return zone + name.size();
    }
  }
  if (look.peek(zone) != '+' && look.peek(zone) != '-') return i;
  const std::size_t offset = look.skip(zone + 1, [](char c) { return is_digit(c) || c == ':'; });
  const std::size_t size = offset - zone - 1;
  return size == 4 || size == 5 ? offset : i;
}

std::size_t trailing_year(const TextLook& look, std::size_t end) {
  const std::size_t year = look.skip(end + 1, is_digit);
  return look.peek(end) == ' ' && year - end == 5 && !is_alnum(look.peek(year)) ? year : end;
}

}  // namespace

std::size_t date_end(const TextLook& look, std::size_t at) {
  const bool by_name = is_alpha(look.text[at]);
  for (const std::string_view pattern : dates) {
    if (by_name != (pattern[0] == 'W' || pattern[0] == 'M')) continue;
    std::size_t end = match(look, at, pattern);
    if (end == npos) continue;
    const char next = look.peek(end);
    if (is_alnum(next) != (next == 'T')) continue;
    std::size_t time = end;
    if (next == 'T' || next == ':' || next == ',') ++time;
    while (look.peek(time) == ' ' && time < end + 2) ++time;
    if (const std::size_t behind = clock_end(look, time, false); behind != npos) {
      end = behind;
    } else if (next == 'T') {
      continue;
    }
    return pattern[0] == 'W' ? trailing_year(look, end) : end;
  }
  return npos;
}

std::size_t clock_end(const TextLook& look, std::size_t at, bool alone) {
  std::size_t i = look.skip(at, is_digit);
  if (i == at || i - at > 2) return npos;
  std::size_t fields = 1;
  while (look.peek(i) == ':' && is_digit(look.peek(i + 1)) && is_digit(look.peek(i + 2)) &&
         !is_digit(look.peek(i + 3))) {
    ++fields;
    i += 3;
  }
  if (fields < 2 || fields > 3 || (fields == 2 && alone)) return npos;
  const bool has_fraction = look.peek(i) == '.' || look.peek(i) == ',';
  if (has_fraction && is_digit(look.peek(i + 1))) i = look.skip(i + 1, is_digit);
  const std::size_t half = i + (look.peek(i) == ' ' ? 1 : 0);
  if (half_days.has(look.slice(half, std::min(half + 2, look.text.size()))) &&
      !is_alnum(look.peek(half + 2))) {
    i = half + 2;
  }
  return zone_end(look, i);
}

}  // namespace dlo
