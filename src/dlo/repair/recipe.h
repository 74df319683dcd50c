#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/repair/difference.h"
#include "dlo/repair/json_patch.h"

namespace dlo {

/// One step of a recipe, as data.
struct RecipeStep {
  enum class Kind : std::uint8_t {
    set,            // what stands at `path` becomes `value`; objects on the way are made
    remove,         // what stands at `path` goes; nothing there is fine
    rename,         // what stands at `path` moves to `to`; nothing there is fine
    set_header,     // all headers of that name become one with this text
    remove_header,  // all headers of that name go
    patch,          // a JSON Patch (RFC 6902), as strict as that is
  };
  Kind kind = Kind::set;
  std::vector<std::string> path;
  std::vector<std::string> to;
  JsonTree value;
  std::string name;  // of a header
  std::string text;  // of a header
  JsonPatch patch;
};

/// How messages are repaired, one like the other.
using Recipe = std::vector<RecipeStep>;
inline constexpr std::size_t most_recipe_steps = 100;

/// An array of steps, each an object: {"set": PATH, "value": JSON} · {"remove": PATH} · {"rename":
/// PATH, "to": PATH} · {"set_header": NAME, "value": TEXT} · {"remove_header": NAME} · {"patch":
/// [...]}. Paths as in queries: `order.items.0.sku` or a JSON pointer. Locked headers are refused.
[[nodiscard]] Result<Recipe> read_recipe(const JsonValue& value);
[[nodiscard]] Result<Recipe> parse_recipe(std::string_view text);
/// Reads back as the same recipe.
[[nodiscard]] std::string print_recipe(const Recipe& recipe);

/// The draft after all steps, or which step could not be carried out and why. A recipe that only
/// touches headers leaves every byte of the payload alone; one that touches the payload needs JSON.
[[nodiscard]] Result<Draft> apply_recipe(const Recipe& recipe, Draft draft);

/// What people should know before they use headers like these; one text each.
[[nodiscard]] std::vector<std::string> warnings_of(const Difference& difference);
/// The first locked header that differs, as an error.
[[nodiscard]] Result<void> check_locked(const Difference& difference);

}  // namespace dlo
