#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/entity.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo {

/// Documents that hold entities, by `KIND/ID`, and those that say whose effects are owed.
inline constexpr const char* entity_document = "entity";
inline constexpr const char* effect_document = "entity_effect";

struct KeptEntity {
  Entity entity;
  std::uint64_t version = 0;  // of its document; 0: not written yet
};

/// Which entities of a kind are wanted.
struct EntityFilter {
  std::optional<EntityStatus> status{};
  std::string after{};  // ids behind this one, in byte order
  std::size_t limit = 50;
};
struct EntityPage {
  std::vector<KeptEntity> entities;
  std::string next;  // `after` of the next page; empty: this was the last
};

/// Entities as the office keeps them. Stateless: any number may work on one office.
class EntityBook {
 public:
  explicit EntityBook(Office& office) : office_(office) {}

  /// Nothing if there is none of that id.
  [[nodiscard]] Result<std::optional<KeptEntity>> find(const std::string& kind,
                                                       const std::string& id);
  /// not_found with the words of its kind (S1-25).
  [[nodiscard]] Result<KeptEntity> get(const EntityKind& kind, const std::string& id);

  /// Those of a kind, by id. A page may hold fewer than its limit, or none, and not be the last: it
  /// looks at a bounded number of them.
  [[nodiscard]] Result<EntityPage> list(const std::string& kind, const EntityFilter& filter);

  /// What becomes of an entity, and what is written in the same list.
  struct Step {
    std::optional<Entity> next;  // nothing: it is removed
    std::vector<Change> also{};
    bool write = true;  // false: it stays as it is
  };
  using Plan = std::function<Result<Step>(const std::optional<KeptEntity>& now)>;
  /// Reads it, lets `plan` say what becomes of it, and writes that in one compare-and-set: nobody's
  /// step is lost, and none is made on what is no longer so. Where somebody else was quicker,
  /// `plan` is asked again. An error of `plan` ends it; any error: nothing was written.
  Result<KeptEntity> change(const std::string& kind, const std::string& id, const Plan& plan);

  [[nodiscard]] static std::string key_of(const std::string& kind, const std::string& id);

 private:
  Office& office_;
};

/// To be written beside an entity, so that its effect is found again after a restart; with nothing
/// owed, what was noted is removed.
[[nodiscard]] Change note_effect(const Entity& entity);

}  // namespace dlo
