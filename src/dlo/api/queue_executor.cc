#include "dlo/api/queue_executor.h"

#include <memory>
#include <vector>

#include "dlo/core/decide.h"
#include "dlo/core/identity.h"
#include "dlo/core/spelling.h"

namespace dlo::api {

Outcome QueueExecutor::run(const Message& message, const RunContext& context) {
  const TimePoint now = clock_.now();
  auto task = std::make_shared<Message>(message);
  stamp_lineage(task->headers, {context.id, context.occurrence});
  task->source = queue_;
  task->position.reset();
  task->enqueued_at = now;
  task->expires_at.reset();  // it is wanted now: it is not to die of its old age
  Publication publication;
  publication.message = std::move(task);
  publication.counters = after_replay(context.counters, ReplayCount::restart);
  const std::vector<Publication> one{std::move(publication)};
  const auto sent = send_(queue_, one, now);
  if (sent) return {};
  Outcome outcome{OutcomeKind::failed, {}};
  outcome.failure.type = "QueueUnavailable";
  // The word is one that rules know: a queue is declared or emptied, and then the next retry works.
  outcome.failure.text = "queue " + in_quotes(queue_) + " is unavailable: " + sent.error().detail;
  return outcome;
}

}  // namespace dlo::api
