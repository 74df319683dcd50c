#pragma once

#include "dlo/core/result.h"

namespace dlo {

/// Whether a record could not be read because of what is there, or not there any more. Of anything
/// else the disk is to blame, and the record may be whole.
[[nodiscard]] inline bool says_damage(const Error& error) noexcept {
  return error.code == Code::corrupt || error.code == Code::not_found;
}

}  // namespace dlo
