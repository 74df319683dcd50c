#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/core/result.h"
#include "dlo/json/text/value.h"
#include "dlo/store/query.h"

namespace dlo {

/// A place in a message as people name it: `header.tenant` or `body.order.id` (also
/// `body./order/a.b`).
struct FieldPath {
  Field field = Field::body;  // header or body
  std::string header;         // its name, in lower case
  JsonPath path;              // into the payload

  /// Refuses what is neither, with both forms.
  [[nodiscard]] static Result<FieldPath> parse(std::string_view text);
  /// The same for all ways to write the same place.
  [[nodiscard]] std::string name() const;
};
/// The place a header or body test looks at; nothing for other fields and for paths that are none.
[[nodiscard]] std::optional<FieldPath> path_of(const FieldTest& test);

/// What a test of the place would compare: nothing where there is no scalar.
[[nodiscard]] std::vector<std::optional<std::string>> values_at(const std::vector<FieldPath>& paths,
                                                                const Headers& headers,
                                                                std::string_view payload);

}  // namespace dlo
