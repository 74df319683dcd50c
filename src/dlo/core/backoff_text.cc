// The text form of a retry policy, and what makes one valid.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "dlo/core/backoff.h"
#include "dlo/core/backoff_expression.h"
#include "dlo/core/duration.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::array<std::string_view, 8> kind_names = {
    "never", "immediate", "fixed", "linear", "exponential", "list", "custom", "expression"};
constexpr std::array<std::string_view, 4> jitter_names = {"none", "full", "equal", "decorrelated"};
constexpr std::array<std::string_view, 8> setting_names = {
    "base", "factor", "first_exponent", "cap", "jitter", "delays", "name", "delay"};
constexpr double largest_factor = 1'000;
constexpr std::int32_t widest_exponent = 64;
constexpr std::size_t most_delays = 1'000;

Error refuse(std::string detail) {
  return {Code::invalid_argument, "core.policy", std::move(detail)};
}

bool is_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    const char lower = ascii_lower(c);
    const bool plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || c == '.';
    if (!plain) return false;
  }
  return true;
}

bool is_duration(Millis value) noexcept {
  return value >= Millis{0} && value <= longest_duration;
}

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& names,
                                    std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

template <typename T>
bool read_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string print_number(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("2");
}

Result<void> read_delays(std::string_view text, std::vector<Millis>& delays) {
  while (true) {
    const std::size_t comma = text.find(',');
    auto delay = parse_duration(text.substr(0, comma));
    if (!delay) return refuse("delays: " + delay.error().detail);
    delays.push_back(*delay);
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

Result<void> read_duration(std::string_view key, std::string_view text, Millis& out) {
  auto value = parse_duration(text);
  if (!value) return refuse(std::string(key) + ": " + value.error().detail);
  out = *value;
  return {};
}

Result<void> read_setting(std::string_view key, std::string_view value, RetryPolicy& policy) {
  if (key == "base") return read_duration(key, value, policy.base);
  if (key == "cap") return read_duration(key, value, policy.cap.emplace());
  if (key == "delays") return read_delays(value, policy.delays);
  if (key == "name" || key == "delay") {
    (key == "name" ? policy.custom : policy.expression) = value;
    return {};
  }
  if (key == "factor") {
    if (read_number(value, policy.factor)) return {};
    return refuse("factor " + in_quotes(value) + " is not a number; write for example factor=2.");
  }
  if (key == "first_exponent") {
    if (read_number(value, policy.first_exponent)) return {};
    return refuse("first_exponent " + in_quotes(value) + " is not a whole number; 0 is usual.");
  }
  if (key == "jitter") {
    const auto index = index_of(jitter_names, value);
    if (!index) return refuse(unknown_name("jitter", value, jitter_names));
    policy.jitter = static_cast<Jitter>(*index);
    return {};
  }
  return refuse(unknown_name("setting of a retry policy", key, setting_names));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// Its waits are made of a base: without one there would be none.
bool is_based(PolicyKind kind) {
  return kind == PolicyKind::fixed || kind == PolicyKind::linear || kind == PolicyKind::exponential;
}

/// A word of document 002 alone means its numbers, wherever it is written (S2-5, S2-6).
std::string_view in_full(std::string_view word) {
  if (word == "linear") return "linear base=5m";
  if (word == "exponential") return "exponential base=1m factor=2 cap=1h";
  return word;
}

/// What a kind may be given: `cap` and `jitter` need a wait to cut or vary.
bool uses(PolicyKind kind, std::string_view setting) {
  const bool based = is_based(kind);
  if (setting == "base") return based || kind == PolicyKind::custom;
  if (setting == "factor" || setting == "first_exponent") return kind == PolicyKind::exponential;
  if (setting == "delays") return kind == PolicyKind::list;
  if (setting == "name") return kind == PolicyKind::custom;
  if (setting == "delay") return kind == PolicyKind::expression;
  if (setting == "jitter=decorrelated") return based;  // it grows from the base
  return kind != PolicyKind::never && kind != PolicyKind::immediate;
}

Result<void> check_use(PolicyKind kind, std::string_view setting) {
  if (uses(kind, setting)) return {};
  return refuse("a policy of kind " + std::string(name_of(kind)) + " does not use " +
                std::string(setting) + ": remove it, or choose a kind that does.");
}

/// Every setting that differs from its default must mean something.
Result<void> check_use(const RetryPolicy& policy) {
  const RetryPolicy unset;
  const std::array<std::pair<std::string_view, bool>, 9> given = {{
      {"base", policy.base != unset.base},
      {"factor", policy.factor != unset.factor},
      {"first_exponent", policy.first_exponent != unset.first_exponent},
      {"cap", policy.cap.has_value()},
      {"jitter", policy.jitter != Jitter::none},
      {"jitter=decorrelated", policy.jitter == Jitter::decorrelated},
      {"delays", !policy.delays.empty()},
      {"name", !policy.custom.empty()},
      {"delay", !policy.expression.empty()},
  }};
  for (const auto& [setting, is_given] : given) {
    if (!is_given) continue;
    if (auto used = check_use(policy.kind, setting); !used) return used;
  }
  return {};
}

}  // namespace

PolicyKind kind_of_policy(std::string_view printed) noexcept {
  const auto index = index_of(kind_names, printed.substr(0, printed.find(' ')));
  return index ? every_policy_kind[*index] : PolicyKind::never;
}

std::string_view name_of(PolicyKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < kind_names.size() ? kind_names[index] : "unknown";
}

std::string_view name_of(Jitter jitter) noexcept {
  const auto index = static_cast<std::size_t>(jitter);
  return index < jitter_names.size() ? jitter_names[index] : "unknown";
}

Result<void> check(const RetryPolicy& policy) {
  if (auto used = check_use(policy); !used) return used;
  if (!is_duration(policy.base)) return refuse("base must be between 0s and 3650d.");
  if (policy.cap && !is_duration(*policy.cap)) return refuse("cap must be between 0s and 3650d.");
  if (!(policy.factor >= 1.0 && policy.factor <= largest_factor)) {
    return refuse("factor must be between 1 and 1000, so that waits never shrink.");
  }
  if (policy.first_exponent < -widest_exponent || policy.first_exponent > widest_exponent) {
    return refuse("first_exponent must be between -64 and 64.");
  }
  if (policy.kind == PolicyKind::list) {
    if (policy.delays.empty() || policy.delays.size() > most_delays) {
      return refuse("a list needs 1 to 1000 delays, for example: list delays=1s,10s,1m");
    }
    for (const Millis delay : policy.delays) {
      if (!is_duration(delay)) return refuse("each of delays must be between 0s and 3650d.");
    }
  }
  if (policy.kind == PolicyKind::expression) {
    const auto plain = check_expression(policy.expression);
    if (!plain) return refuse("delay: " + plain.error().detail);
    if (*plain != policy.expression) return refuse("delay is written without blanks.");
  }
  if (policy.kind == PolicyKind::custom && !is_name(policy.custom)) {
    return refuse(
        "a custom policy needs the name it was registered under (letters, digits, "
        "'_', '-', '.'), for example: custom name=office_hours");
  }
  return {};
}

std::string print(const RetryPolicy& policy) {
  const RetryPolicy unset;
  std::string line{name_of(policy.kind)};
  if (policy.kind == PolicyKind::custom) line += " name=" + policy.custom;
  if (!policy.expression.empty()) line += " delay=" + policy.expression;
  // A base of zero is written, too: the kind alone means something else.
  if (policy.base != unset.base || is_based(policy.kind))
    line += " base=" + print_duration(policy.base);
  if (policy.kind == PolicyKind::exponential) line += " factor=" + print_number(policy.factor);
  if (policy.first_exponent != unset.first_exponent) {
    line += " first_exponent=" + std::to_string(policy.first_exponent);
  }
  if (!policy.delays.empty()) {
    line += " delays=";
    for (std::size_t i = 0; i < policy.delays.size(); ++i) {
      if (i != 0) line += ',';
      line += print_duration(policy.delays[i]);
    }
  }
  if (policy.cap) line += " cap=" + print_duration(*policy.cap);
  if (policy.jitter != Jitter::none) line += " jitter=" + std::string(name_of(policy.jitter));
  return line;
}

Result<RetryPolicy> parse_policy(std::string_view text) {
  auto words = words_of(text);
  if (words.size() == 1) words = words_of(in_full(words.front()));
  if (words.empty()) {
    return refuse(
        "a retry policy is empty; write for example: exponential base=1s factor=2 cap=5m");
  }
  const auto kind = index_of(kind_names, words.front());
  if (!kind) return refuse(unknown_name("retry policy", words.front(), kind_names));
  RetryPolicy policy;
  policy.kind = static_cast<PolicyKind>(*kind);
  std::vector<std::string_view> seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string_view::npos) {
      return refuse(in_quotes(words[i]) +
                    " is not a setting; write name=value, for example base=1s.");
    }
    const std::string_view key = words[i].substr(0, equals);
    for (const std::string_view earlier : seen) {
      if (earlier == key) return refuse("setting " + in_quotes(key) + " is given twice.");
    }
    seen.push_back(key);
    if (auto read = read_setting(key, words[i].substr(equals + 1), policy); !read) {
      return read.error();
    }
    if (auto used = check_use(policy.kind, key); !used) return used.error();
  }
  if (is_based(policy.kind) && std::ranges::find(seen, "base") == seen.end()) {
    return refuse("a policy of kind " + std::string(words.front()) +
                  " needs a base, the time it waits first; write for example: " +
                  std::string(words.front()) + " base=2s");
  }
  if (auto valid = check(policy); !valid) return valid.error();
  return policy;
}

}  // namespace dlo
