#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/time.h"

namespace dlo {

/// One link of a cause chain.
struct Cause {
  std::string type;
  std::string text;
  bool operator==(const Cause&) const = default;
};

/// Why an attempt did not succeed, as the handler reported it. Classification adds a category.
struct Failure {
  std::string type;                   // "JsonException"; empty if unknown
  std::string text;                   // message for people; may be empty
  std::string code;                   // typed code ("ECONNREFUSED", "exit:75"); empty if none
  std::optional<int> status;          // HTTP status
  std::vector<Cause> causes;          // outermost first; the last one is the root
  std::string stack;                  // one frame per line
  std::optional<Millis> retry_after;  // the other side asked for this much patience
  bool operator==(const Failure&) const = default;
};

/// How an attempt ended (CONTRACT 3.2 step 5). Returned and thrown failures take one path.
enum class OutcomeKind : std::uint8_t {
  ok,
  failed,         // returned or thrown
  crashed,        // the process died, or the lease ran out, while it was running
  never_started,  // claimed but not run: the claim is given back
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::ok;
  Failure failure;
  bool operator==(const Outcome&) const = default;
};

}  // namespace dlo
