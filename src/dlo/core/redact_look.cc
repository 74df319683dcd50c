#include "dlo/core/redact_look.h"

#include <algorithm>

#include "dlo/core/encoding.h"
#include "dlo/core/redact_tables.h"
#include "dlo/core/spelling.h"

namespace dlo::redact_look {

bool same(std::string_view a, std::string_view lower) noexcept {
  return a.size() == lower.size() &&
         std::ranges::equal(a, lower, {}, [](char c) { return ascii_lower(c); });
}

bool is_one_of(std::string_view word, std::span<const std::string_view> list) noexcept {
  return std::ranges::any_of(list, [&](std::string_view entry) { return same(word, entry); });
}

FoldedName::FoldedName(std::string_view name) noexcept {
  for (std::size_t i = name.size(); i > 0 && size_ < kept_.size(); --i) {
    const char c = name[i - 1];
    if (c == '_' || c == '-') continue;
    kept_[kept_.size() - ++size_] = ascii_lower(c);
  }
}

bool FoldedName::ends_like(std::span<const std::string_view> list) const noexcept {
  // Nearly every word of every error text is asked; nearly none ends like any of these.
  const std::string_view own = view();
  return std::ranges::any_of(list, [own](std::string_view name) {
    return name.size() <= own.size() && own.back() == name.back() && own.ends_with(name);
  });
}

bool FoldedName::is(std::span<const std::string_view> list) const noexcept {
  return std::ranges::find(list, view()) != list.end();
}

std::string_view FoldedName::view() const noexcept {
  return std::string_view(kept_.data(), kept_.size()).substr(kept_.size() - size_);
}

bool looks_random(std::string_view value) noexcept {
  if (value.size() < 8) return false;
  std::size_t digits = 0;
  std::size_t letters = 0;
  for (const char c : value) {
    digits += is_digit(c) ? 1 : 0;
    letters += is_alnum(c) && !is_digit(c) ? 1 : 0;
  }
  if (digits > 0 && letters > 0) return true;
  if (value.ends_with('=') || digits >= 16) return true;
  return value.size() >= 32 && value.find('.') == std::string_view::npos;
}

bool looks_like_credentials(std::string_view value) {
  if (value.size() < 6) return false;
  const auto decoded = from_base64(value);
  return looks_random(value) || (decoded && decoded->find(':') != std::string::npos);
}

bool is_masked(std::string_view value) noexcept {
  return value.find_first_not_of('*') == std::string_view::npos;
}

bool says_nothing(std::string_view value) noexcept {
  return is_one_of(value, redact_tables::nothing);
}

bool is_prose(std::string_view value, char after) noexcept {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos && is_quote(after)) return false;
  std::string_view word = value.substr(0, space);
  while (!word.empty() && (word.back() == '.' || word.back() == ',')) word.remove_suffix(1);
  return is_one_of(word, redact_tables::prose);
}

}  // namespace dlo::redact_look
