#include "dlo/core/retry_names.h"

#include <utility>

#include "dlo/core/spelling.h"

namespace dlo {
namespace {

RetryTemplate of(std::string_view policy, std::uint32_t retries, std::string category) {
  RetryTemplate made;
  if (auto read = parse_workflow_policy(policy)) made.asked.policy = std::move(*read);
  made.asked.plain = true;
  made.asked.max_retries = retries;
  made.category = std::move(category);
  made.metadata.kind = TextNode::Kind::map;
  return made;
}

}  // namespace

const RetryTemplates& builtin_templates() {
  static const RetryTemplates all = {
      {"rate-limit", of("exponential", 5, "transient")},
      {"network", of("exponential", 3, "network")},
      {"resource", of("linear", 2, "resource")},
      {"permanent", of("never", 0, "permanent")},
  };
  return all;
}

Result<RetryTemplate> RetryNames::find_template(std::string_view name) const {
  if (const auto found = templates.find(name); found != templates.end()) return found->second;
  std::vector<std::string_view> valid;
  for (const auto& [each, ignored] : templates) valid.push_back(each);
  return Error{Code::invalid_argument, "core.template", unknown_name("template", name, valid)};
}

}  // namespace dlo
