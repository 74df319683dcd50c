#pragma once

#include <string>

#include "dlo/core/result.h"
#include "dlo/core/time.h"

namespace dlo {

/// What a look through the pages of an office found.
struct Soundness {
  std::string damage;  // the first, in SQLite's words; empty: none was seen
  bool whole = true;   // false: the time was over before the end
};

/// Looks through `office.db` of a directory as PRAGMA quick_check does, beside whoever writes to
/// it, for `at_most`. Changes nothing. An error: it cannot be opened.
[[nodiscard]] Result<Soundness> look_through(const std::string& directory, Millis at_most);

}  // namespace dlo
