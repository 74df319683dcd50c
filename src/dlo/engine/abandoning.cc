#include "dlo/engine/abandoning.h"

#include <algorithm>

#include "dlo/broker/moments.h"
#include "dlo/core/redact.h"
#include "dlo/engine/record.h"
#include "dlo/engine/trail.h"

namespace dlo {

Abandoned release_of(const Delivery& delivery, const AbandonOptions& options,
                     const AbandonDecision& decided, const std::optional<AbandonedRun>& run,
                     TimePoint now, const std::string& node) {
  Abandoned ending;
  ending.increment_count = options.increment_count;
  ending.again_at = later(now, options.delay);
  if (options.error_message) {
    ending.error = beginning(redact(*options.error_message), carried_error);
  }
  if (options.increment_count) ending.counters = decided.counters;
  const bool ran = is_execution(options);
  if (ran || options.max_abandon_count) {
    ending.trail = with_call_limit(delivery.trail, options.max_abandon_count);
  }
  if (!ran || !run) return ending;
  Failure failure;
  if (!ending.error.empty()) failure.type = abandoned_type;
  failure.text = ending.error;
  Decision decision;
  decision.verdict =
      RetryAt{ending.again_at, std::max(Millis{0}, options.delay), Placement::delayed};
  const Attempt attempt =
      make_attempt(run->counters, run->started, now, OutcomeKind::failed, decision, failure, node);
  ending.trail = with_call_limit(with_attempt(delivery.trail, attempt), options.max_abandon_count);
  return ending;
}

}  // namespace dlo
