#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/repair/recipe.h"
#include "dlo/store/office.h"

namespace dlo {

/// A recipe under a name. Every change is a new version; old ones stay.
struct KeptRecipe {
  std::string name;
  std::uint32_t version = 0;  // 1, 2, 3, ...
  Recipe steps;
  std::string notes;
  TimePoint at{};
  std::string by;
  std::uint64_t etag = 0;  // of its document
};
[[nodiscard]] std::string to_json(const KeptRecipe& recipe);

/// The recipes of an office: documents.
class RecipeBook {
 public:
  explicit RecipeBook(Office& office) : office_(office) {}

  /// The next version under that name, together with `audit`. `expected`: the etag of the version
  /// it replaces; conflict if it is another by now. `also` may add a change to the same write.
  using Also = std::function<std::optional<Change>(const KeptRecipe&)>;
  Result<KeptRecipe> put(KeptRecipe recipe, std::optional<std::uint64_t> expected, AddAudit audit,
                         const Also& also = {});
  Result<KeptRecipe> get(const std::string& name, std::optional<std::uint32_t> version);
  Result<std::vector<KeptRecipe>> list();
  Result<std::vector<KeptRecipe>> versions(const std::string& name);
  /// Its versions stay, so that the trail can be read; not_found if there is none.
  Result<void> remove(const std::string& name, AddAudit audit);

 private:
  Office& office_;
};

/// Letters, digits, dots, dashes and underscores, up to 100.
[[nodiscard]] Result<void> check_recipe_name(const std::string& name);

}  // namespace dlo
