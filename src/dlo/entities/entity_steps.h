#pragma once

#include <optional>
#include <string>

#include "dlo/core/entity.h"
#include "dlo/core/result.h"
#include "dlo/engine/record.h"
#include "dlo/entities/entity_book.h"

namespace dlo {

/// What its owner says of an entity; what is not said stays as it is.
struct EntityWords {
  std::optional<std::string> data{};  // a JSON object, checked
  std::optional<TimePoint> created_at{};
  std::optional<std::string> error{};  // redacted
  std::optional<std::string> error_type{};
};

/// It is there from now on, or what is new of it is known. A repeat writes nothing. Refused
/// (conflict) if it has failed for good: its dead letter says what was known of it.
[[nodiscard]] Result<EntityBook::Step> register_step(const EntityKind& kind, const std::string& id,
                                                     const std::optional<KeptEntity>& now,
                                                     const EntityWords& words, TimePoint at);

struct RetryStep {
  EntityBook::Step step;  // with the dead letter, if there is one
  bool is_allowed = false;
};
/// Somebody is about to retry it. not_found, or refused (conflict) as the rules have it.
[[nodiscard]] Result<RetryStep> retry_step(const EntityKind& kind, const std::string& id,
                                           const std::optional<KeptEntity>& now,
                                           const EntityWords& words, const RuleBook& rules,
                                           const Origin& origin, TimePoint at);

}  // namespace dlo
