#pragma once

#include "dlo/core/classify.h"

namespace dlo {

/// Compiles the regex rules of a classifier with RE2: linear in the text, whatever the pattern, so
/// an error message cannot be crafted to stall a worker. Safe from any thread.
[[nodiscard]] RegexCompiler re2_compiler();

}  // namespace dlo
