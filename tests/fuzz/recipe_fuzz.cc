#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dlo/repair/recipe.h"
#include "dlo/repair/schema.h"

/// Before the first line end a payload, behind it a recipe. Any bytes are refused or do what they
/// say; a recipe prints as one that reads back the same; a payload that was JSON stays JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  const std::string payload(text.substr(0, line));
  if (const auto schema = dlo::JsonSchema::parse(text.substr(line + 1))) {
    (void)schema->check(payload);
  }
  const auto recipe = dlo::parse_recipe(text.substr(line + 1));
  if (!recipe) return 0;
  const std::string printed = dlo::print_recipe(*recipe);
  const auto again = dlo::parse_recipe(printed);
  if (!again || dlo::print_recipe(*again) != printed) std::abort();
  const dlo::Draft draft{{{"tenant", "a"}}, payload};
  const auto repaired = dlo::apply_recipe(*recipe, draft);
  if (!repaired) return 0;
  if (!repaired->payload) std::abort();
  if (dlo::parse_json(payload) && !dlo::parse_json(*repaired->payload)) std::abort();
  (void)dlo::difference_of(draft, *repaired);
  return 0;
}
