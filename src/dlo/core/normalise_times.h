#pragma once

#include <cstddef>
#include <string_view>

#include "dlo/core/byte_class.h"
#include "dlo/core/normalise_tables.h"

/// Dates and times of day in error text, for normalise.cc.
namespace dlo {

/// A text and how it is looked at: behind its end are NULs.
struct TextLook {
  std::string_view text;

  [[nodiscard]] char peek(std::size_t i) const noexcept { return i < text.size() ? text[i] : '\0'; }
  [[nodiscard]] std::string_view slice(std::size_t from, std::size_t to) const noexcept {
    return text.substr(from, to - from);
  }
  template <typename Test>
  [[nodiscard]] std::size_t skip(std::size_t from, Test test) const noexcept {
    while (from < text.size() && test(text[from])) ++from;
    return from;
  }
};

/// False only if no date begins at `at`, which is a letter, a digit or a sign.
[[nodiscard]] inline bool may_be_date(const TextLook& look, std::size_t at) noexcept {
  if (byte_class::is_alpha(look.text[at])) {
    const std::string_view name = look.slice(at, at + 3);
    return normalise_tables::months.has(name) || normalise_tables::weekdays.has(name);
  }
  const std::size_t end = look.skip(at, byte_class::is_digit);
  const char next = look.peek(end);
  if (end - at == 4) return next == '-' || next == '/';
  return end - at <= 2 && (next == '/' || next == ' ' || next == '.');
}

/// Where the date that begins at `at` ends, with the time of day behind it; npos if there is none.
[[nodiscard]] std::size_t date_end(const TextLook& look, std::size_t at);

/// The same of a time of day: 12:00:00.123, with AM or PM and a zone. 12:00 is one unless it stands
/// `alone`.
[[nodiscard]] std::size_t clock_end(const TextLook& look, std::size_t at, bool alone);

}  // namespace dlo
