#include "dlo/jobs/replay_target.h"

#include <utility>

#include "dlo/core/decide.h"
#include "dlo/core/redact.h"
#include "dlo/core/spelling.h"
#include "dlo/engine/capture.h"

namespace dlo {
namespace {

constexpr Millis again_after{1'000};

/// The other side answered, if only to say that this message is wrong.
bool is_answer(const Outcome& outcome) {
  if (outcome.kind == OutcomeKind::ok) return true;
  const int status = outcome.failure.status.value_or(0);
  return status >= 400 && status < 500 && status != 408 && status != 429;
}

}  // namespace

bool is_executor(std::string_view target) noexcept {
  return target.starts_with(executor_prefix);
}

Result<ReplayTarget> find_executor(const std::shared_ptr<const HandlerTable>& table,
                                   std::string_view target, Millis timeout) {
  target.remove_prefix(executor_prefix.size());
  std::vector<std::string> names;
  if (table != nullptr) {
    for (const auto& [name, entry] : table->named()) {
      if (name == target) return ReplayTarget{table, entry, entry->timeout.value_or(timeout)};
      names.push_back(name);
    }
  }
  if (names.empty()) {
    return Error{Code::not_found, "jobs.replay",
                 "There is no executor " + in_quotes(target) +
                     ", nor any other: executors are a server's, and `executors` in its "
                     "configuration names them."};
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return Error{Code::not_found, "jobs.replay", unknown_name("executor", target, known)};
}

ReplayRun run_at(const ReplayTarget& target, const Publication& message, const RecordId& id,
                 const std::stop_token& stop, TimePoint now) {
  HandlerEntry& entry = *target.entry;
  BreakerTicket ticket;
  if (const auto later = entry.breaker.ask(now, ticket)) return {{}, later};
  RunContext context;
  context.id = id;
  context.counters = RuleBook::started(message.counters);
  context.started = now;
  context.timeout = target.timeout;
  context.stop = stop;
  Outcome outcome = run_captured(*entry.handler, *message.message, context);
  const bool well = outcome.kind == OutcomeKind::ok;
  if (!well && (stop.stop_requested() || outcome.kind == OutcomeKind::never_started)) {
    entry.breaker.take_back(ticket, now);
    return {std::move(outcome), now + again_after};
  }
  entry.breaker.report(ticket, is_answer(outcome), now, 0);
  return {std::move(outcome), std::nullopt};
}

std::vector<Change> changes_after(const Ran& ran, Outcome outcome) {
  const auto& [record, was, executor, notes, now, took] = ran;
  const bool well = outcome.kind == OutcomeKind::ok;
  redact(outcome.failure);
  Attempt attempt;
  attempt.number = record.counters.total + 1;
  attempt.started_at = now;
  attempt.took = took;
  attempt.outcome = well ? OutcomeKind::ok : OutcomeKind::failed;
  attempt.node = executor;
  Transition move;
  move.id = record.id;
  move.to = well ? Status::resolved : was;
  move.now = now;
  move.counters = record.counters;
  ++move.counters->total;
  if (well) {
    move.resolution = Resolution{now, "", "replayed", notes};
  } else {
    attempt.category = record.category;
    attempt.error_type = outcome.failure.type;
    attempt.error_text = outcome.failure.text;
    move.failure = std::move(outcome.failure);
  }
  return {std::move(move), AddAttempt{record.id, std::move(attempt)}};
}

}  // namespace dlo
