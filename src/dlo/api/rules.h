#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dlo/api/router.h"
#include "dlo/core/classify.h"
#include "dlo/core/profile.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// What the rules would say. Nothing is changed, so readers may ask.
///   POST /v1/rules/explain    {id} or {error, type, status, code, attempt, profile, source}
///   POST /v1/rules/simulate   {query, profile, sample}: what became of dead letters by their
///   rules,
///                             and what would become of them by the rules as they are now
struct RuleParts {
  Office& office;
  /// As configured now, for messages of that source.
  std::function<Result<Profile>(const std::string& profile, const std::string& source)> profile;
  RegexCompiler regex;
};
[[nodiscard]] std::vector<Route> rule_routes(const RuleParts& parts);

}  // namespace dlo::api
