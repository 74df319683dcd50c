#pragma once

#include <string>

#include "dlo/core/text_tree.h"

namespace dlo::api {

/// Nested text of a configuration as JSON. What stands there without quotes and is a JSON number,
/// true, false or null is one; anything else is a string.
[[nodiscard]] std::string json_of(const TextNode& node);

/// The metadata of a report made by a template: by key, what the report says wins. `template` names
/// the template. Metadata that are no object stay as they are.
[[nodiscard]] std::string metadata_by(const std::string& name, const TextNode& metadata,
                                      const std::string& reported);

}  // namespace dlo::api
