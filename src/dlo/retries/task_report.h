#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlo/core/error.h"
#include "dlo/core/profile.h"
#include "dlo/core/retry_request.h"
#include "dlo/engine/report_desk.h"

namespace dlo {

/// A failed task as it is handed over (S2-18). Only the message's source and the failure are
/// needed.
struct TaskReport {
  Report report{};
  std::string profile = std::string(default_profile_name);
  bool final = true;        // whoever reports has given up; false: the core may say "try again"
  bool says_final = false;  // he said so himself, and did not only leave `attempts` out
  RetryRequest asked{};     // how the office is to retry it, where it does (S2-18)
  std::string category{};   // instead of what the classifier would find
  bool requested = false;   // keep it whatever the strategy is (S2-28)
  std::string error{};      // as it was given; empty: the failure's text
  std::vector<std::string> depends_on{};  // task ids of the same source: it runs after them (S2-54)
};

/// Why a report was not kept.
struct TaskRefusal {
  std::string code;  // full, disk_full, unavailable, dlq_disabled, cycle, not_found (profile), ...
  Error error;
};

/// What became of a report (S2-16). The task failed either way, so that is its status.
struct TaskAnswer {
  std::string status = "failed";
  std::string error{};  // the caller's own, intact
  bool dlq_enqueued = false;
  std::string dlq_task_id{};  // of what was kept
  bool stored = false;
  bool durable = true;  // false: in memory only, until the office can be written again (S2-2)
  std::optional<RecordId> id{};
  std::string policy{};  // by which it is retried
  std::optional<TimePoint> next_retry_at{};
  std::vector<std::string> waits_for{};  // before that; empty: for nobody
  std::string reason{};                  // why it died, or why it is not kept
  std::string not_retried{};             // the strategy's word, where it is only recorded for that
  std::optional<Reported> reported{};    // what was decided; empty: it was refused
  DeadLetterPtr kept{};                  // of a repeat: what the office has, and goes by
  std::optional<TaskRefusal> refusal{};  // ... for this
};

}  // namespace dlo
