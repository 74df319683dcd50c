#pragma once

#include <cstdint>
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
struct EntityListArguments {
  std::string kind;
  std::string status;  // empty: any
  std::uint64_t limit = 50;
  std::string cursor;
};
int entity_list(Context& context, const EntityListArguments& arguments);
int entity_show(Context& context, const EntityArguments& arguments);
int entity_register(Context& context, const EntityArguments& arguments);
/// 0 only if whoever asks may go ahead.
int entity_retry(Context& context, const EntityArguments& arguments);
int entity_reopen(Context& context, const EntityArguments& arguments);
int entity_effect(Context& context, const EntityArguments& arguments);
int entity_remove(Context& context, const EntityArguments& arguments);

}  // namespace dlo::cli
