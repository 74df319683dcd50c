#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/repair/json_tree.h"

namespace dlo {

/// One operation of a JSON Patch (RFC 6902).
struct PatchOperation {
  enum class Kind : std::uint8_t { add, remove, replace, move, copy, test };
  Kind kind = Kind::add;
  std::vector<std::string> path;
  std::vector<std::string> from;  // of move and copy
  JsonTree value;                 // of add, replace and test
};
using JsonPatch = std::vector<PatchOperation>;
[[nodiscard]] std::string_view name_of(PatchOperation::Kind kind) noexcept;

inline constexpr std::size_t most_operations = 1000;

/// An array of {op, path, from, value}. Refuses what it does not know, with the place.
[[nodiscard]] Result<JsonPatch> read_patch(const JsonValue& value);
[[nodiscard]] Result<JsonPatch> parse_patch(std::string_view text);
[[nodiscard]] std::string print_patch(const JsonPatch& patch);

/// All operations in order, or none: the error says which one could not be carried out and why.
[[nodiscard]] Result<JsonTree> apply_patch(const JsonPatch& patch, JsonTree tree);

/// The place at `steps`, made or replaced: `add` of RFC 6902. The parent has to be there.
[[nodiscard]] Result<void> add_at(JsonTree& tree, const std::vector<std::string>& steps,
                                  JsonTree value);
/// Takes out what stands there and answers it.
[[nodiscard]] Result<JsonTree> remove_at(JsonTree& tree, const std::vector<std::string>& steps);

}  // namespace dlo
