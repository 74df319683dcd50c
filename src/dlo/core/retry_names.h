#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/core/retry_request.h"
#include "dlo/core/text_tree.h"

namespace dlo {

/// Everything about a common kind of failure in one word (S2-56). What a report says itself wins.
struct RetryTemplate {
  RetryRequest asked{};
  std::string category{};
  std::optional<Priority> priority{};
  TextNode metadata{};  // a map; merged by key
  std::vector<std::string> tags{};
};
using RetryTemplates = std::map<std::string, RetryTemplate, std::less<>>;

/// `rate-limit`, `network`, `resource`, `permanent`: the limits of document 002 (S2-31, S2-32).
[[nodiscard]] const RetryTemplates& builtin_templates();

/// The words that reports may use: schedules and templates that a configuration names, and the
/// built-in templates.
struct RetryNames {
  NamedPolicies policies{};
  RetryTemplates templates = builtin_templates();

  /// Refuses an unknown name with the valid ones and the nearest spelling.
  [[nodiscard]] Result<RetryTemplate> find_template(std::string_view name) const;
};

}  // namespace dlo
