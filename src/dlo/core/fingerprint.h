#pragma once

#include <string>
#include <string_view>

#include "dlo/core/failure.h"
#include "dlo/core/id.h"

namespace dlo {

/// What makes two failures the same problem.
struct Fingerprint {
  Id128 hash;
  std::string title;  // for people: root error type and first application frame, or its text
  std::string basis;  // which step of the fallback chain gave it: frames, text, type, event, reason
};

/// Text beyond this is ignored, and no longer text comes out.
inline constexpr std::size_t normalised_text_limit = 4096;

/// Folds what varies between occurrences: numbers, hex, UUIDs and other drawn ids, dates and times,
/// durations, IP addresses, e-mail addresses, scratch paths, quoted text, lists of these, repeated
/// white space. Numbers that say which error it is stay ("HTTP 404", "ORA-00942", "exit code 137").
/// Idempotent and total; what comes out is UTF-8.
[[nodiscard]] std::string normalise(std::string_view text);

/// Always yields a group. The chain:
///   frames  the first frames of the application's own code, with root type, code, status and event
///           type. The text counts too: in full where a library raised the error (a repository
///           method fails of deadlocks and of duplicate keys), by its plain words where the
///           application did, since such texts name customers and orders.
///   text    no frame of our own: root type and normalised root text
///   frames  no text either: the first frames of whatever code there is
///   type    root type, code or status
///   event   event type and reason of death
///   reason  nothing but that
/// The root is the last cause, else what the stack says caused it, else the failure itself.
[[nodiscard]] Fingerprint fingerprint_of(const Failure& failure, std::string_view event_type,
                                         std::string_view reason);

}  // namespace dlo
