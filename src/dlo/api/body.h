#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/api/request.h"
#include "dlo/core/result.h"
#include "dlo/json/fields.h"

namespace dlo::api {

/// Nested deeper, a body is refused: nothing we take needs it.
inline constexpr std::size_t body_depth = 32;

/// The media type of a request without its parameters, in lower case; empty if it names none.
[[nodiscard]] std::string media_type(const Request& request);

/// What `read` makes of a JSON object. Strict: one value, no repeated members, no members that
/// `read` did not ask for (refused by name), bounded depth. An empty text is an empty object.
[[nodiscard]] Result<void> read_object(std::string_view text,
                                       const std::function<void(JsonFields&)>& read);
/// The same for a request's body, which has to say that it is JSON.
[[nodiscard]] Result<void> read_body(const Request& request,
                                     const std::function<void(JsonFields&)>& read);

/// The lines of an NDJSON text with their numbers, from 1; blank ones are left out.
struct Line {
  std::size_t number = 0;
  std::string_view text;
};
[[nodiscard]] std::vector<Line> lines_of(std::string_view text);

/// The first member that an object inside `value` has twice, as a path.
[[nodiscard]] std::optional<std::string> repeated_member(const JsonValue& value);

}  // namespace dlo::api
