#pragma once

#include <string>
#include <vector>

#include "dlo/core/entity.h"
#include "dlo/core/text_tree.h"
#include "dlo/core/time.h"

namespace dlo {

struct ConfigReading;

/// How the owner of an entity hears of its death, as configured.
struct EffectSettings {
  std::string kind{};                 // http, sql; empty: not at all
  std::string target{};               // a URL, or a statement
  std::string secret_file{};          // http: to sign with, one secret a line
  std::string database{};             // sql: where; empty: where the office is
  std::vector<std::string> values{};  // sql: what $1, $2, … are, by name (`entity_values`)
  Millis timeout{30'000};
  bool operator==(const EffectSettings&) const = default;
};

struct EntitySettings {
  EntityKind kind;
  EffectSettings effect{};
  bool operator==(const EntitySettings&) const = default;
};
/// What there is without any configuration: payments.
[[nodiscard]] std::vector<EntitySettings> built_in_entities();

/// `entities.NAME`: a kind of entity, or what differs for one that is built in, such as
/// `{limit: 5, effect: {http: https://payments.example/dead}}`. Read after the profiles.
void read_entities(const TextNode& section, ConfigReading& reading);

/// One line about `entities.NAME`; nothing that may be secret.
[[nodiscard]] std::string describe_entity(const std::vector<EntitySettings>& all,
                                          const std::string& path);

}  // namespace dlo
