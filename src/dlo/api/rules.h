#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dlo/api/router.h"
#include "dlo/core/classify.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/redirect.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// What the rules would say. Nothing is changed, so readers may ask.
///   POST /v1/rules/explain    {id} and what is supposed instead of what happened, or {error, type,
///                             status, code, attempt, counters, profile, source, event_type}
///   POST /v1/rules/simulate   {query, profile, sample}: what became of dead letters by their
///   rules,
///                             and what would become of them by the rules as they are now
struct RuleParts {
  Office& office;
  std::function<std::shared_ptr<const ProfileBook>()> rules;  // as configured now
  RegexCompiler regex;
  std::function<std::vector<RedirectRule>()> redirects{};  // of replays, as configured now
};
[[nodiscard]] std::vector<Route> rule_routes(const RuleParts& parts);

}  // namespace dlo::api
