#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dlo {

/// What somebody may do. Each role may do what the ones before it may.
enum class Role : std::uint8_t { nobody, reader, operator_, admin };

inline constexpr std::array<std::string_view, 4> role_names = {"nobody", "reader", "operator",
                                                               "admin"};
[[nodiscard]] constexpr std::string_view name_of(Role role) noexcept {
  return role_names[static_cast<std::size_t>(role)];
}

}  // namespace dlo
