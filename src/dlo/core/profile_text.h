#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dlo/core/profile.h"
#include "dlo/core/text_tree.h"

namespace dlo {

/// What is wrong with one line of settings.
struct TextComplaint {
  std::size_t line = 0;
  std::string text;
};

/// Takes over the settings of a profile that `node` has; the others stay as they are. Everything
/// that cannot be read is in the answer. Whether the result is sensible is for `check` to say.
[[nodiscard]] std::vector<TextComplaint> read_settings(const TextNode& node, Profile& profile);

}  // namespace dlo
