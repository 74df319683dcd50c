#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dlo {

/// Where dead letters of some sources go when they are sent back, instead of where they came from.
struct RedirectRule {
  std::string from;  // a source; `*` stands for any run of bytes
  std::string type;  // an event type, likewise; empty: whatever it is
  std::string to;
  bool operator==(const RedirectRule&) const = default;
};

/// Where one goes, and by which rule (its place); none: because it was said, or it came from there.
struct Direction {
  std::string target;
  std::optional<std::size_t> rule{};
  auto operator<=>(const Direction&) const = default;
};

/// What was said comes first, then the first rule that fits, then the source.
[[nodiscard]] Direction direction_of(std::string_view said, std::span<const RedirectRule> rules,
                                     std::string_view source, std::string_view event_type);

/// Byte for byte, but `*` in `pattern` stands for any run of bytes, also none.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view text) noexcept;

/// The place of an earlier rule that takes everything this one could.
[[nodiscard]] std::optional<std::size_t> hidden_by(std::span<const RedirectRule> rules,
                                                   std::size_t rule) noexcept;

/// "orders*, type Paid -> orders-v2".
[[nodiscard]] std::string print(const RedirectRule& rule);
/// "to orders-v2, by redirect rule 1 (orders* -> orders-v2)"; "to orders, where it came from".
[[nodiscard]] std::string describe(const Direction& direction, std::span<const RedirectRule> rules);

}  // namespace dlo
