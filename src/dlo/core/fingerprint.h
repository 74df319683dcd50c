#pragma once

#include <string>
#include <string_view>

#include "dlo/core/failure.h"
#include "dlo/core/id.h"

namespace dlo {

/// What makes two failures the same problem.
struct Fingerprint {
  Id128 hash;
  std::string title;  // root error type and first application frame, for people
  std::string basis;  // which step of the fallback chain gave it: frames, text, type, event, reason
};

/// Folds what varies between occurrences: numbers, hex, UUIDs, timestamps, quoted text, paths'
/// last digits, repeated white space. Idempotent. Input beyond 4 KB is ignored.
[[nodiscard]] std::string normalise(std::string_view text);

/// Always yields a group: frames of our own code, else normalised root text, else error type,
/// else event type, else the reason of death.
[[nodiscard]] Fingerprint fingerprint_of(const Failure& failure, std::string_view event_type,
                                         std::string_view reason);

}  // namespace dlo
