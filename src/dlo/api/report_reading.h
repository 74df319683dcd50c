#pragma once

#include <string>
#include <string_view>

#include "dlo/core/profile.h"
#include "dlo/core/retry_request.h"
#include "dlo/engine/report_desk.h"
#include "dlo/json/fields.h"

namespace dlo::api {

/// One report as it came in.
struct Reading {
  Report report;
  std::string profile = std::string(default_profile_name);
  bool final = true;        // whoever reports has given up; false: the core may say "try again"
  bool says_final = false;  // he said so himself, and did not only leave `attempts` out
  RetryRequest asked{};     // how the office is to retry it, where it does (S2-18)
  std::string category{};   // instead of what the classifier would find
  bool requested = false;   // keep it whatever the strategy is (S2-28)
  std::string error{};      // as it was given
};

/// A JSON object: the members of a message (docs/api.md) beside `error` or `failure`, `attempts`,
/// `final`, `profile`, `handler`, `metadata`, `tags`; for tasks that the office retries also
/// `task_id`, `task`, `targets` (or `repos`), `policy`, `max_retries`, `category`, `requested`.
[[nodiscard]] Result<Reading> read_report(std::string_view text, TimePoint now);

/// A message, whose payload is `payload` (text, or base64 beside `payload_encoding`) or `json` (any
/// JSON, kept as it is written).
[[nodiscard]] Message read_sent_message(JsonFields& fields, TimePoint now);

}  // namespace dlo::api
