#pragma once

#include <cstdint>
#include <string_view>

namespace dlo {

/// What people may do to a header of a dead letter (UI.md, edit dialog).
enum class HeaderClass : std::uint8_t {
  free,
  sensitive,  // may be changed, with a warning: others act on it
  locked,     // ours or the broker's own account of what happened: changing it would be a lie
};
[[nodiscard]] std::string_view name_of(HeaderClass header_class) noexcept;

/// ASCII case is ignored.
[[nodiscard]] HeaderClass header_class(std::string_view name) noexcept;
/// Why a header is not free, for people; empty if it is.
[[nodiscard]] std::string_view header_warning(std::string_view name) noexcept;

}  // namespace dlo
