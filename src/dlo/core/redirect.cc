#include "dlo/core/redirect.h"

namespace dlo {
namespace {

bool covers(std::string_view wide, std::string_view narrow) noexcept {
  // A pattern that fits the text of another one, stars and all, fits whatever that one fits.
  return fits(wide, narrow);
}

}  // namespace

bool fits(std::string_view pattern, std::string_view text) noexcept {
  std::size_t at = 0;
  std::size_t in = 0;
  std::optional<std::size_t> star;  // the last one, and what it stands for so far
  std::size_t taken = 0;
  while (in < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = in;
    } else if (at < pattern.size() && pattern[at] == text[in]) {
      ++at;
      ++in;
    } else if (star) {
      at = *star + 1;
      in = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

Direction direction_of(std::string_view said, std::span<const RedirectRule> rules,
                       std::string_view source, std::string_view event_type) {
  if (!said.empty()) return {std::string(said)};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const bool type_fits = rules[i].type.empty() || fits(rules[i].type, event_type);
    if (type_fits && fits(rules[i].from, source)) return {rules[i].to, i};
  }
  return {std::string(source)};
}

std::optional<std::size_t> hidden_by(std::span<const RedirectRule> rules,
                                     std::size_t rule) noexcept {
  for (std::size_t i = 0; i < rule; ++i) {
    const std::string& type = rules[i].type;
    const bool any_type =
        type.empty() || (!rules[rule].type.empty() && covers(type, rules[rule].type));
    if (any_type && covers(rules[i].from, rules[rule].from)) return i;
  }
  return std::nullopt;
}

std::string print(const RedirectRule& rule) {
  return rule.from + (rule.type.empty() ? "" : ", type " + rule.type) + " -> " + rule.to;
}

std::string describe(const Direction& direction, std::span<const RedirectRule> rules) {
  if (!direction.rule || *direction.rule >= rules.size()) {
    return "to " + direction.target + ", where it came from";
  }
  return "to " + direction.target + ", by redirect rule " + std::to_string(*direction.rule + 1) +
         " (" + print(rules[*direction.rule]) + ")";
}

}  // namespace dlo
