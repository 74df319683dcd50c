#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlo {

/// Texts with more lines than this that differ, after what is the same at both ends is taken away,
/// are shown as one replaced by the other: finding more would take too long.
inline constexpr std::size_t most_compared_lines = 2'000;

/// The unified difference of two texts, three lines of context; empty if they are the same. A last
/// line without an end is marked as `diff` does.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after,
                                       std::string_view before_name, std::string_view after_name);

}  // namespace dlo
