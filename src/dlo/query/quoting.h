#pragma once

#include <string>
#include <string_view>

namespace dlo::query {

/// A value or a path as the parser reads it back: bare where nothing in it could be syntax.
[[nodiscard]] std::string quoted_if_needed(std::string_view value);

}  // namespace dlo::query
