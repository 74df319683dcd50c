#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/json/text/value.h"

namespace dlo {

/// What stands where a value is not shown.
inline constexpr std::string_view mask_text = "***";

/// `text` with every value at one of `paths` replaced by the mask; all else stays byte for byte. Of
/// repeated keys every one is masked. Nothing if `text` is no JSON: then no place in it is known.
[[nodiscard]] std::optional<std::string> mask_json(std::string_view text,
                                                   const std::vector<JsonPath>& paths);

/// Whether a value at one of `paths` is the mask itself.
[[nodiscard]] bool holds_mask(std::string_view text, const std::vector<JsonPath>& paths);

}  // namespace dlo
