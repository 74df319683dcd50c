#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlo/json/text/value.h"

namespace dlo::api {

/// Holds JSON values against the part of JSON Schema that the description uses: type, properties,
/// required, patternProperties, additionalProperties, items, enum, pattern, bounds, format
/// date-time, allOf, oneOf and $ref. One thing is stricter: who does not say additionalProperties
/// allows none. A keyword it does not know is a complaint, never silence.
class SchemaCheck {
 public:
  /// `document` holds the schemas that $ref points to, and outlives this.
  explicit SchemaCheck(const JsonValue& document) : document_(document) {}

  /// What is wrong, each with its place and what to do about it; empty if it fits.
  [[nodiscard]] std::vector<std::string> complaints(const JsonValue& schema,
                                                    const JsonValue& value) const;

  /// What a $ref stands for; the schema itself if it has none.
  [[nodiscard]] const JsonValue& resolved(const JsonValue& schema) const;

 private:
  struct Walk;
  const JsonValue& document_;
};

}  // namespace dlo::api
