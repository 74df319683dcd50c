#pragma once

#include <string_view>

namespace dlo {

/// Whether an executor that ended in good order returned a failure all the same (I5): the word its
/// result has for `status`. `failed` and `partial` are those of document 002 (S2-16, R2-2); any
/// other word is the executor's own business.
[[nodiscard]] constexpr bool says_failed(std::string_view status) noexcept {
  return status == "failed" || status == "partial";
}

}  // namespace dlo
