#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "dlo/core/failure.h"
#include "dlo/core/message.h"

namespace dlo {

/// Names of enumerators that only leave the program as JSON, in order of declaration: one table
/// serves writing, reading and the list of valid names in an error.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> json_names{};

template <>
inline constexpr std::array<std::string_view, 8> json_names<HeaderType>{
    "text", "bytes", "boolean", "integer", "real", "timestamp", "null", "structured"};
template <>
inline constexpr std::array<std::string_view, 3> json_names<Priority>{"low", "normal", "high"};
template <>
inline constexpr std::array<std::string_view, 4> json_names<OutcomeKind>{"ok", "failed", "crashed",
                                                                         "never_started"};

template <typename Enum>
[[nodiscard]] constexpr std::string_view json_name(Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < json_names<Enum>.size() ? json_names<Enum>[index] : std::string_view("unknown");
}

template <typename Enum>
[[nodiscard]] constexpr std::optional<Enum> json_enum(std::string_view name) noexcept {
  for (std::size_t i = 0; i < json_names<Enum>.size(); ++i) {
    if (json_names<Enum>[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace dlo
