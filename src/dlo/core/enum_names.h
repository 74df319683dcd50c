#pragma once

// Names of enumerators, in order of declaration: one table serves printing, parsing and the list of
// valid names in an error.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "dlo/core/profile.h"

namespace dlo {

template <typename Enum>
inline constexpr std::array<std::string_view, 0> enum_names{};

template <>
inline constexpr std::array<std::string_view, 2> enum_names<Comparison>{">", ">="};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Action>{"retry", "terminal", "never",
                                                                    "reject_to_caller"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<Stage>{"header", "decode", "schema"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<InvalidAction>{"dead_letter", "drop",
                                                                           "count"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Placement>{"requeue", "delayed",
                                                                       "in_office", "hold"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<StoreFailure>{"keep_source", "reject",
                                                                          "memory_fallback"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<OwnerEffect>{
    "none", "mark_published", "permanently_failed", "fail_owner"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<ReplayCount>{"restart", "carry_on"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<FirstAttempt>{"measured", "estimated"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Strategy>{"automatic", "selective",
                                                                      "manual", "disabled"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Skips>{"lose", "record"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<RetentionAct>{"archive", "discard",
                                                                          "expire"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<RetentionFrom>{"end", "first_failure"};
template <>
inline constexpr std::array<std::string_view, 6> enum_names<MatchKind>{
    "code", "status", "type", "substring", "word", "regex"};
template <>
inline constexpr std::array<std::string_view, 7> enum_names<CounterName>{
    "fetch", "attempt", "failure", "abandon", "retry", "next_retry", "abandon_or_fetch"};

template <typename Enum>
[[nodiscard]] constexpr std::string_view enum_name(Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < enum_names<Enum>.size() ? enum_names<Enum>[index] : "unknown";
}

template <typename Enum>
[[nodiscard]] constexpr std::optional<Enum> enum_value(std::string_view name) noexcept {
  for (std::size_t i = 0; i < enum_names<Enum>.size(); ++i) {
    if (enum_names<Enum>[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace dlo
