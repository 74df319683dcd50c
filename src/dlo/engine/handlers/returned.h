#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "dlo/core/failure.h"

namespace dlo {

/// So much of a result is read. It bounds what a run may cost, and is beyond what executors return.
inline constexpr std::size_t result_limit = 4 * 1024 * 1024;

/// The failure that the result of a run tells of, though the run ended in good order (I5): a JSON
/// object whose member `status` says so (core/returned.h). Its text is the member `error`, or the
/// `message` in it, else `message`, `detail` or the first of `errors`. Empty: the result is no such
/// object, or says nothing of the kind. An object that was `cut`, so that nobody knows what it
/// says, is a failure, too.
[[nodiscard]] std::optional<Outcome> returned_failure(std::string_view result, bool cut = false);

/// The same of what a program wrote: all of it, or from a line that begins with `{` on, the last
/// such that has one object. `cut`: there was more before it.
[[nodiscard]] std::optional<Outcome> returned_by_program(std::string_view output, bool cut = false);

}  // namespace dlo
