#include "dlo/core/unclassified.h"

#include <utility>

namespace dlo {

Decision expired(const RuleBook& rules, const Counters& counters, std::string description) {
  return {DeadLetterAs{rules.profile().reasons.expired, std::move(description), false},
          counters,
          {},
          {},
          "its time to live was over before it could run"};
}

Decision condemned(const RuleBook& rules, Counters counters, std::string reason,
                   std::string description) {
  Failure said;
  said.type = reason;
  said.text = description;
  const Classification found = rules.classifier().classify(said);
  counters.failure += counters.failure != UINT32_MAX ? 1 : 0;
  return {DeadLetterAs{std::move(reason), std::move(description), false}, counters,
          found.rule.empty() ? rejected_category : found.category, found.rule,
          "the worker said so"};
}

std::string_view category_of(const RuleBook& rules, const DeadLetterAs& death,
                             const Failure& last) {
  if (death.reason == rules.profile().reasons.expired && last == Failure{}) return expired_category;
  return rules.classifier().classify(last).category;
}

}  // namespace dlo
