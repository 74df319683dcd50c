#pragma once

#include <optional>
#include <string_view>

#include "dlo/core/failure.h"

namespace dlo {

/// The failure that the result of a run tells of, though the run ended in good order (I5): a JSON
/// object whose member `status` says so (core/returned.h). Its text is the member `error`, or the
/// `message` in it, else `message`, `detail` or the first of `errors`. Empty: the result is no such
/// object, or says nothing of the kind.
[[nodiscard]] std::optional<Outcome> returned_failure(std::string_view result);

/// The same of what a program wrote: all of it, or its last line.
[[nodiscard]] std::optional<Outcome> returned_by_program(std::string_view output);

}  // namespace dlo
