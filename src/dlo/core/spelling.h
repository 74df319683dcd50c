#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dlo {

/// The candidate that `name` was most likely meant to be: fewest single-character edits (a swap of
/// neighbours is one; ASCII case is free). Empty if none is close enough to be worth suggesting.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       std::span<const std::string_view> candidates);

/// `unknown jitter "ful": did you mean "full"? Valid: none, full, equal, decorrelated`
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view name,
                                       std::span<const std::string_view> valid);

/// Text for an error message: in double quotes, control bytes as \xNN, cut after 80 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// ASCII only, so that the same rule reads the same under every locale.
[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] std::string ascii_lower(std::string_view text);

}  // namespace dlo
