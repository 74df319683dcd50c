#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlo/core/result.h"

namespace dlo::api {

/// The target of a request, taken apart and decoded once. Nothing is normalised: a path has one
/// spelling, and tricks with dots, empty steps, control bytes or double decoding are refused.
struct Target {
  std::vector<std::string> steps;  // of the path, decoded; `/` has none
  std::vector<std::pair<std::string, std::string>> query;
};

[[nodiscard]] Result<Target> parse_target(std::string_view text);

}  // namespace dlo::api
