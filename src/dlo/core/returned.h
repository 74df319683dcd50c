#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "dlo/core/spelling.h"

namespace dlo {

/// Whether an executor that ended in good order returned a failure all the same (I5): the word its
/// result has for `status`, in capitals or not. `failed` and `partial` are those of document 002
/// (S2-16, R2-2), `error` is what many programs say instead; any other word is the executor's own
/// business.
[[nodiscard]] inline bool says_failed(std::string_view status) {
  constexpr std::array<std::string_view, 3> words = {"failed", "partial", "error"};
  return std::ranges::find(words, ascii_lower(status)) != words.end();
}

}  // namespace dlo
