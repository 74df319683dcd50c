#pragma once

#include <string>
#include <string_view>

#include "dlo/core/entity.h"
#include "dlo/core/result.h"
#include "dlo/json/writer.h"

namespace dlo {

/// As it is kept, all of it; from_document(to_document(e)) is e.
[[nodiscard]] std::string to_document(const Entity& entity);
[[nodiscard]] Result<Entity> from_document(std::string_view text);

/// As it is shown: an object that is left open for more members. `data` stands in for the entity's
/// own, which may hold what is masked.
void write_entity(JsonWriter& json, const Entity& entity, std::uint32_t max_retries,
                  std::string_view data);

/// The payload of its dead letter (S1-30): the id, what its owner said of it, how often and when it
/// was retried, when it was made, and what it last failed of. Numbers stay as they were written.
[[nodiscard]] std::string payload_of(const EntityKind& kind, const Entity& entity);

/// Refuses what its owner may not say of it: other members than the kind has, keys of ours, too
/// much of it. `data` is a JSON object.
[[nodiscard]] Result<void> check_data(const EntityKind& kind, std::string_view data);

}  // namespace dlo
