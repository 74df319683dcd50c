#include "dlo/entities/entity_book.h"

#include <utility>

#include "dlo/entities/entity_text.h"

namespace dlo {
namespace {

/// Each conflict is a step that somebody else made, so whoever loses this often is one of very
/// many; it is told to come again.
constexpr int most_rounds = 100;
constexpr std::size_t read_at_once = 500;
constexpr std::size_t most_looked_at = 20'000;  // for one page

Error no_documents() {
  return {Code::refused, "entities.book", "This office keeps no documents."};
}

}  // namespace

std::string EntityBook::key_of(const std::string& kind, const std::string& id) {
  return kind + "/" + id;
}

Result<std::optional<KeptEntity>> EntityBook::find(const std::string& kind, const std::string& id) {
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return no_documents();
  const auto document = ledger->document(entity_document, key_of(kind, id));
  if (!document) return document.error();
  if (!*document) return std::optional<KeptEntity>();
  auto entity = from_document((*document)->body);
  if (!entity) return entity.error();
  return std::optional<KeptEntity>({std::move(*entity), (*document)->version});
}

Result<KeptEntity> EntityBook::get(const EntityKind& kind, const std::string& id) {
  auto found = find(kind.name, id);
  if (!found) return found.error();
  if (*found) return std::move(**found);
  return Error{Code::not_found, "entities.book", not_found_text(kind, id)};
}

Result<EntityPage> EntityBook::list(const std::string& kind, const EntityFilter& filter) {
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr) return no_documents();
  const std::string prefix = key_of(kind, "");
  EntityPage page;
  std::string after = filter.after;
  for (std::size_t seen = 0; seen < most_looked_at;) {
    const auto found = ledger->documents(entity_document, prefix + after, read_at_once);
    if (!found) return found.error();
    for (const Document& each : *found) {
      if (!each.key.starts_with(prefix)) return page;
      if (page.entities.size() == filter.limit) {
        page.next = after;
        return page;
      }
      auto entity = from_document(each.body);
      if (!entity) return entity.error();
      after = entity->id;
      const bool wanted = !filter.status || entity->status == *filter.status;
      if (wanted) page.entities.push_back({std::move(*entity), each.version});
    }
    if (found->size() < read_at_once) return page;
    seen += found->size();
  }
  page.next = after;
  return page;
}

Result<KeptEntity> EntityBook::change(const std::string& kind, const std::string& id,
                                      const Plan& plan) {
  for (int round = 0; round < most_rounds; ++round) {
    auto now = find(kind, id);
    if (!now) return now.error();
    auto step = plan(*now);
    if (!step) return step.error();
    const std::uint64_t version = *now ? (*now)->version : 0;
    KeptEntity kept{step->next.value_or(Entity{}), version};
    if (!step->write) return kept;
    std::vector<Change> changes;
    std::optional<std::string> body;
    if (step->next) body = to_document(*step->next);
    changes.emplace_back(PutDocument{entity_document, key_of(kind, id), std::move(body), version});
    for (Change& each : step->also) changes.push_back(std::move(each));
    const auto applied = office_.apply(changes);
    if (applied) {
      kept.version = applied->front().version;
      return kept;
    }
    if (applied.error().code != Code::conflict) return applied.error();
  }
  return Error{Code::unavailable, "entities.book",
               "Too many act on " + key_of(kind, id) + " at once. Nothing was done; try again."};
}

Change note_effect(const Entity& entity) {
  const bool owed = entity.effect && entity.effect->state == EffectState::pending;
  std::optional<std::string> body;
  if (owed) body = "{}";
  return PutDocument{effect_document, EntityBook::key_of(entity.kind, entity.id), std::move(body),
                     std::nullopt};
}

}  // namespace dlo
