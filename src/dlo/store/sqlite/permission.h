#pragma once

#include <optional>
#include <string>

#include "dlo/core/error.h"

namespace dlo::sqlite {

/// What this process may not do with a database, its log, its marks or its directory, if anything:
/// SQLite says only that it could not open the file, or opens it read-only without a word.
[[nodiscard]] std::optional<Error> lacking_permission(const std::string& path, bool writing);

}  // namespace dlo::sqlite
