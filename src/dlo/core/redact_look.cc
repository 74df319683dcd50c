#include "dlo/core/redact_look.h"

#include <algorithm>

#include "dlo/core/encoding.h"
#include "dlo/core/redact_tables.h"
#include "dlo/core/spelling.h"

namespace dlo::redact_look {
namespace {

bool is_mark(char c) noexcept {
  return c == '_' || c == '-' || c == '.';
}

/// Text in front of a name that belongs to it: `spring.vault.` but not `com.acme.` before `Token`.
std::string_view path_before(std::string_view name, std::string_view before) noexcept {
  constexpr std::size_t longest = 64;
  if (before.size() < 2 || before.back() != '.' || name.empty() || is_upper(name.front()))
    return {};
  before = before.substr(before.size() - std::min(before.size(), longest));
  std::size_t from = before.size() - 1;
  while (from > 0 && is_word(before[from - 1])) --from;
  return before.substr(from);
}

}  // namespace

std::size_t last_word(std::string_view name) noexcept {
  for (std::size_t i = name.size(); i > 1; --i) {
    const char before = name[i - 2];
    if (is_mark(before)) return i - 1;
    if (!is_upper(name[i - 1]) || !is_alnum(before)) continue;
    if (!is_upper(before) || (i < name.size() && is_lower(name[i]))) return i - 1;
  }
  return 0;
}

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

Trust trust_in(std::string_view name, std::string_view before) noexcept {
  const FoldedName folded(name);
  if (folded.ends_like(redact_tables::sessions)) return Trust::session;
  const std::size_t at = last_word(name);
  const bool pass = same(name.substr(at), "pass");
  if (!pass && !is_one_of(name.substr(at), redact_tables::kept_by_owner)) {
    const bool known =
        folded.ends_like(redact_tables::joined) || folded.is(redact_tables::joined_pass);
    return known ? Trust::likely : Trust::doubtful;
  }
  std::string_view owner = at > 0 ? name.substr(0, at) : path_before(name, before);
  while (!owner.empty() && is_mark(owner.back())) owner.remove_suffix(1);
  owner = owner.substr(last_word(owner));
  if (pass) return is_one_of(owner, redact_tables::pass_owners) ? Trust::likely : Trust::doubtful;
  const bool harmless = owner.empty() || is_one_of(owner, redact_tables::harmless_before);
  return harmless ? Trust::doubtful : Trust::likely;
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

bool is_no_word(std::string_view value) noexcept {
  if (value.size() < 4 || is_one_of(value, redact_tables::encodings)) return false;
  bool digit = false;
  bool letter = false;
  bool lower = false;
  for (const char c : value) {
    if (is_digit(c)) {
      digit = true;
    } else if (is_alnum(c)) {
      if (lower && is_upper(c)) return true;
      letter = true;
      lower = is_lower(c);
    } else if (std::string_view("!@#$%^&*+=~?_").find(c) != std::string_view::npos) {
      return true;
    } else if (c != '-' && c != '\'') {
      return false;  // a path, a host, a number with a unit
    }
  }
  return digit && letter;
}

bool is_jumbled(std::string_view value) noexcept {
  std::size_t humps = 0;
  for (std::size_t i = 1; i < value.size(); ++i) {
    humps += is_lower(value[i - 1]) && is_upper(value[i]) ? 1 : 0;
  }
  return value.size() >= 10 && humps * 4 >= value.size();
}

bool is_header_prose(std::string_view word) noexcept {
  return is_one_of(word, redact_tables::prose) || is_one_of(word, redact_tables::token_prose) ||
         is_one_of(word, redact_tables::header_prose);
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

bool is_prose(std::string_view value, char after, Trust trust) noexcept {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos && is_quote(after)) return false;
  std::string_view word = value.substr(0, space);
  while (!word.empty() && (word.back() == '.' || word.back() == ',')) word.remove_suffix(1);
  return is_one_of(word, redact_tables::prose) ||
         (trust == Trust::likely && is_one_of(word, redact_tables::token_prose));
}

}  // namespace dlo::redact_look
