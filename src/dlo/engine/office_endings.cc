// How what was claimed from the office goes back to it.
#include <utility>

#include "dlo/engine/office_source.h"
#include "dlo/engine/record.h"
#include "dlo/engine/trail.h"

namespace dlo {
namespace {

constexpr std::size_t brought_at_once = 500;

std::vector<Attempt> runs_among(const std::vector<Change>& changes) {
  std::vector<Attempt> runs;
  for (const Change& change : changes) {
    if (const auto* run = std::get_if<AddAttempt>(&change)) runs.push_back(run->attempt);
  }
  return runs;
}

}  // namespace

/// Not run, for whoever runs it takes nothing now.
bool OfficeSource::is_put_off(const Abandoned& ending) const {
  return options_.has_circuits && !ending.increment_count && ending.error.empty();
}

/// Only what nobody works on: whoever has it again finds out about its last start by himself.
void OfficeSource::overruled(const RecordId& id, std::vector<Attempt> attempts, TimePoint now) {
  if (attempts.empty()) return;
  const auto detail = office_.get(id);
  if (!detail || !is_closed(detail->record.status)) return;
  const DeadLetter& record = detail->record;
  Transition unmoved;
  unmoved.id = id;
  unmoved.expected_version = record.version;
  unmoved.to = record.status;
  unmoved.now = now;
  std::vector<Change> changes{unmoved};
  const std::uint32_t told = detail->attempts.empty() ? 0 : detail->attempts.front().number;
  for (Attempt& attempt : attempts) {
    if (attempt.number <= told || attempt.number > record.counters.total) continue;
    changes.emplace_back(AddAttempt{id, std::move(attempt)});
  }
  if (changes.size() > 1) (void)office_.apply(changes);
}

/// Without the claim, and the start if there was one (I8).
Counters OfficeSource::unclaimed(const Held& held) {
  Counters counters = held.started_at ? without_start(held.counters) : held.counters;
  if (counters.fetch > 0) --counters.fetch;
  return counters;
}

Transition OfficeSource::ending_of(const Held& held, const Settlement& settlement,
                                   TimePoint now) const {
  Transition move;
  move.id = held.id;
  move.lease = settlement.lease;
  move.now = now;
  move.to = held.home;
  if (std::holds_alternative<Completed>(settlement.ending)) {
    move.to = Status::resolved;
    move.counters = held.counters;
    move.clear_next_retry = true;
    move.resolution = Resolution{now, "engine", "retried", ""};
    if (held.waited) {
      move.reason = held.category;
      move.description = "";
    }
  } else if (const auto* failed = std::get_if<Failed>(&settlement.ending)) {
    move.counters = failed->counters;
    move.next_retry_at = failed->again_at;
  } else if (const auto* abandoned = std::get_if<Abandoned>(&settlement.ending)) {
    move.counters = unclaimed(held);
    if (abandoned->increment_count) {
      move.counters = after_abandon(*abandoned, held.counters);
    }
    move.next_retry_at = abandoned->again_at;
    if (is_put_off(*abandoned) && held.calls != put_off_.calls()) move.next_retry_at = now;
    if (!abandoned->error.empty()) {
      move.failure = Failure{};
      move.failure->type = abandoned_type;
      move.failure->text = abandoned->error;
    }
  } else {
    move.counters = unclaimed(held);
  }
  return move;
}

/// The move, and the run that worked or was abandoned: whoever opens the record again must not take
/// it for one that was cut off.
std::uint32_t OfficeSource::put_ending(const Held& held, const Settlement& settlement,
                                       TimePoint now, std::vector<Change>& out) const {
  Transition move = ending_of(held, settlement, now);
  const std::uint32_t abandoned = move.counters->abandon;
  out.emplace_back(std::move(move));
  if (held.started_at && std::holds_alternative<Completed>(settlement.ending)) {
    out.emplace_back(AddAttempt{held.id, make_attempt(held.counters, *held.started_at, now,
                                                      OutcomeKind::ok, {}, {}, held.node)});
  }
  if (const auto* ended = std::get_if<Abandoned>(&settlement.ending)) {
    for (Attempt& attempt : attempts_of(ended->trail)) {
      if (attempt.number > held.told) out.emplace_back(AddAttempt{held.id, std::move(attempt)});
    }
  }
  return abandoned;
}

Result<SettleAnswer> OfficeSource::settle_one(const Settlement& settlement, TimePoint now) {
  const auto entry = held(settlement.lease);
  if (!entry) return SettleAnswer{Settled::lease_lost, 0};
  SettleAnswer answer;
  if (!std::holds_alternative<DeadLettered>(settlement.ending)) {
    std::vector<Change> changes;
    answer.abandon_count = put_ending(*entry, settlement, now, changes);
    auto note = note_put_off({&settlement, 1}, now, changes);
    auto applied = office_.apply(changes);
    if (applied && note) put_off_.noted(std::move(*note));
    if (!applied) {
      if (is_retryable(applied.error().code)) return applied.error();
      answer.settled = Settled::lease_lost;
      overruled(entry->id, runs_among(changes), now);
    }
  }
  forget_held({&settlement, 1});
  return answer;
}

/// Those of them that are put off.
std::optional<PutOff::Note> OfficeSource::note_put_off(std::span<const Settlement> settlements,
                                                       TimePoint now,
                                                       std::vector<Change>& changes) {
  std::vector<PutOff::Moment> moments;
  LeaseToken one{};
  for (const Settlement& settlement : settlements) {
    const auto* abandoned = std::get_if<Abandoned>(&settlement.ending);
    if (abandoned == nullptr || !is_put_off(*abandoned)) continue;
    const auto entry = held(settlement.lease);
    if (!entry) continue;
    moments.push_back({entry->id, abandoned->again_at});
    one = settlement.lease;
  }
  if (moments.empty()) return std::nullopt;
  return put_off_.note(one, moments, now, changes);
}

void OfficeSource::forget_held(std::span<const Settlement> settlements) {
  bool called = false;
  {
    const std::lock_guard lock(mutex_);
    for (const Settlement& settlement : settlements) {
      const auto found = held_.find(settlement.lease);
      if (found == held_.end()) continue;
      const auto* abandoned = std::get_if<Abandoned>(&settlement.ending);
      called = called || (abandoned != nullptr && is_put_off(*abandoned) &&
                          found->second.calls != put_off_.calls());
      held_.erase(found);
    }
  }
  if (called) circuit_closed();  // somebody called while that was being written
}

void OfficeSource::circuit_closed() {
  put_off_.call();
  if (options_.timer != nullptr && put_off_.has_called()) options_.timer->hurry();
}

/// Some, so that whatever else is due is claimed in between.
void OfficeSource::bring_called(TimePoint now) {
  if (!options_.has_circuits || !put_off_.has_called()) return;
  put_off_.bring(office_, now, brought_at_once);
  if (options_.timer != nullptr && put_off_.has_called()) options_.timer->hurry();
}

Result<std::vector<SettleAnswer>> OfficeSource::settle(std::span<const Settlement> settlements,
                                                       Instant now) {
  // All together first: one list, one sync. If one of them lost its lease, each by itself.
  std::vector<Change> changes;
  std::vector<SettleAnswer> answers(settlements.size());
  bool together = true;
  for (std::size_t i = 0; i < settlements.size() && together; ++i) {
    const auto entry = held(settlements[i].lease);
    together = entry.has_value();
    if (!together || std::holds_alternative<DeadLettered>(settlements[i].ending)) continue;
    answers[i].abandon_count = put_ending(*entry, settlements[i], now.wall, changes);
  }
  auto note = together ? note_put_off(settlements, now.wall, changes) : std::nullopt;
  if (together && (changes.empty() || office_.apply(changes))) {
    if (note) put_off_.noted(std::move(*note));
    forget_held(settlements);
    return answers;
  }
  for (std::size_t i = 0; i < settlements.size(); ++i) {
    auto one = settle_one(settlements[i], now.wall);
    if (!one) return one.error();
    answers[i] = *one;
  }
  return answers;
}

}  // namespace dlo
