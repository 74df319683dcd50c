#include "dlo/retries/task_answers.h"

#include <utility>
#include <vector>

#include "dlo/core/dependencies.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

/// A repeat that names others than it was handed over with.
std::string as_it_was(const std::vector<std::string>& waits_for) {
  std::string names;
  for (const std::string& name : waits_for) names += (names.empty() ? "" : ", ") + in_quotes(name);
  return "It was handed over before and is kept as it was then: it waits for " +
         (names.empty() ? std::string("nobody") : names) + ".";
}

}  // namespace

TaskAnswer answer_to(const TaskReport& report) {
  TaskAnswer answer;
  answer.error = report.error.empty() ? report.report.failure.text : report.error;
  return answer;
}

void refuse(TaskAnswer& answer, std::string code, Error error) {
  answer.reason = error.detail;
  answer.refusal = TaskRefusal{std::move(code), std::move(error)};
}

void refuse(TaskAnswer& answer, Error error) {
  std::string code(name_of(error.code));
  refuse(answer, std::move(code), std::move(error));
}

void tell(TaskAnswer& answer, const TaskReport& report, Reported reported) {
  const Decision& decision = reported.decision;
  answer.stored = answer.dlq_enqueued = reported.record.has_value();
  answer.id = reported.record;
  if (reported.record) {
    const std::string& id = report.report.message->id;
    answer.dlq_task_id = id.empty() ? to_string(*reported.record) : id;
  }
  if (reported.rules != nullptr)
    answer.policy = print(reported.rules->policy_for(decision.category));
  if (const auto* death = std::get_if<DeadLetterAs>(&decision.verdict)) {
    answer.reason = answer.not_retried.empty() ? death->reason : answer.not_retried;
  } else if (const auto* again = std::get_if<RetryAt>(&decision.verdict)) {
    if (reported.record) answer.next_retry_at = again->when;
  } else if (const auto* rejected = std::get_if<RejectToCaller>(&decision.verdict)) {
    answer.reason = rejected->reason;
  }
  answer.reported = std::move(reported);
}

void tell_kept(TaskAnswer& answer, const TaskReport& report, DeadLetterPtr kept, bool held) {
  const auto named = depends_on(kept->message->headers);
  const bool blocked = held && kept->reason == blocked_reason;
  const bool waits = blocked || (held && kept->reason == waits_reason);
  answer.policy = kept->policy;
  answer.next_retry_at = waits ? std::nullopt : kept->next_retry_at;
  answer.waits_for = waits ? named : std::vector<std::string>{};
  answer.reason = blocked ? kept->description : std::string();
  if (!waits && !kept->next_retry_at) answer.reason = kept->reason;
  if (!report.depends_on.empty() && report.depends_on != named) {
    answer.reason = as_it_was(answer.waits_for);
  }
  answer.kept = std::move(kept);
}

}  // namespace dlo
