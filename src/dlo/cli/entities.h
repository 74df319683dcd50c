#pragma once

#include <optional>
#include <string>

#include "dlo/cli/context.h"

namespace dlo::cli {

/// What is retried when somebody asks for it (docs/entities.md).
struct EntityArguments {
  std::string kind;
  std::string id;
  std::string data;  // a JSON object; empty: nothing is said of it
  std::string created_at;
  std::optional<std::string> error;
  std::optional<std::string> error_type;
  std::string notes;
};
int entity_show(Context& context, const EntityArguments& arguments);
int entity_register(Context& context, const EntityArguments& arguments);
/// 0 only if whoever asks may go ahead.
int entity_retry(Context& context, const EntityArguments& arguments);
int entity_reopen(Context& context, const EntityArguments& arguments);
int entity_effect(Context& context, const EntityArguments& arguments);
int entity_remove(Context& context, const EntityArguments& arguments);

}  // namespace dlo::cli
