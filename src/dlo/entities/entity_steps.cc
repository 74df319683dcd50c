#include "dlo/entities/entity_steps.h"

#include <utility>

#include "dlo/entities/entity_record.h"

namespace dlo {
namespace {

void take(const EntityWords& words, Entity& entity) {
  if (words.error) entity.error = *words.error;
  if (words.error_type) entity.error_type = *words.error_type;
}

}  // namespace

Result<EntityBook::Step> register_step(const EntityKind& kind, const std::string& id,
                                       const std::optional<KeptEntity>& now,
                                       const EntityWords& words, TimePoint at) {
  EntityBook::Step step;
  Entity next;
  next.kind = kind.name;
  next.id = id;
  next.created_at = at;
  next.registered_at = at;
  if (now) next = now->entity;
  if (words.created_at) next.created_at = *words.created_at;
  if (words.data) next.data = *words.data;
  take(words, next);
  step.write = !now || next != now->entity;
  if (step.write && next.status == EntityStatus::permanently_failed) {
    return Error{Code::conflict, "entities.register",
                 kind.title + " " + id +
                     " is PERMANENTLY_FAILED, and its dead letter says what was known of it. "
                     "Nothing was changed; open it again first (POST …/reopen)."};
  }
  if (step.write) next.updated_at = at;
  step.next = std::move(next);
  return step;
}

Result<RetryStep> retry_step(const EntityKind& kind, const std::string& id,
                             const std::optional<KeptEntity>& now, const EntityWords& words,
                             const RuleBook& rules, const Origin& origin, TimePoint at) {
  if (!now) return Error{Code::not_found, "entities.retry", not_found_text(kind, id)};
  Entity entity = now->entity;
  take(words, entity);
  std::string trail = trail_with_last(entity, origin.node);
  RetryAnswer decided = ask_for_retry(rules, kind, std::move(entity), at);
  if (auto* refused = std::get_if<RetryRefused>(&decided)) {
    return Error{Code::conflict, "entities.retry", std::move(refused->why)};
  }
  RetryStep out;
  if (auto* fine = std::get_if<RetryAllowed>(&decided)) {
    out.is_allowed = true;
    out.step.next = std::move(fine->entity);
    out.step.next->trail = std::move(trail);
    return out;
  }
  auto& over = std::get<RetriesOver>(decided);
  over.entity.trail = std::move(trail);
  Append dead = dead_letter_of(kind, over, rules, origin, at);
  out.step.also.emplace_back(std::move(dead));
  if (over.entity.effect) out.step.also.push_back(note_effect(over.entity));
  out.step.next = std::move(over.entity);
  return out;
}

}  // namespace dlo
