#include "dlo/durable/runtime.h"

#include <algorithm>

#include "dlo/core/identity.h"
#include "dlo/core/redact.h"
#include "dlo/durable/poison_record.h"
#include "dlo/engine/record.h"
#include "dlo/engine/trail.h"
#include "dlo/store/death_audit.h"

namespace dlo {
namespace {

// A replay that its process did not finish goes back to pending after this long.
constexpr Millis replay_lease{60'000};
constexpr int most_tries = 8;

Error lost(const LeaseToken& token) {
  return Error{Code::lease_lost, "durable.settle",
               "The lease " + to_string(token) +
                   " is not held any more: the item was settled, or its lease ran out and another "
                   "worker has it. Nothing was changed; drop this result."};
}

std::size_t index(PoisonKind kind) noexcept {
  return kind == PoisonKind::orchestration ? 0 : 1;
}

}  // namespace

Broker& DurableRuntime::queue(PoisonKind kind) const noexcept {
  return kind == PoisonKind::orchestration ? parts_.orchestrator_queue : parts_.worker_queue;
}

Result<void> DurableRuntime::keep_lease(PoisonKind kind, const Delivery& delivery, Instant now) {
  const HeldLease lease{delivery.lease, delivery.steady_until};
  const auto ours = hold_on(queue(kind), {&lease, 1}, now);
  if (!ours) return ours.error();
  if (!ours->front()) return lost(delivery.lease);
  return {};
}

Result<std::vector<std::optional<DeadLetter>>> DurableRuntime::known_records(
    const std::vector<Delivery>& deliveries) {
  std::vector<std::optional<DeadLetter>> known(deliveries.size());
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    if (!deliveries[i].may_be_repeat) continue;
    auto found = writer_.find_repeat(deliveries[i]);
    if (!found) return found.error();
    known[i] = std::move(*found);
  }
  return known;
}

/// If the queue does not answer either, their leases run out.
void DurableRuntime::give_back(PoisonKind kind, const std::vector<Delivery>& unrun, Instant now) {
  std::vector<Settlement> settlements;
  settlements.reserve(unrun.size());
  for (const Delivery& delivery : unrun) settlements.push_back({delivery.lease, ReleasedUnrun{}});
  (void)queue(kind).settle(settlements, now);
}

/// It is in the office, but its queue does not know: a crash or a hook that failed came between, so
/// the owner may never have heard of it.
void DurableRuntime::finish_repeat(PoisonKind kind, const Delivery& delivery,
                                   const DeadLetter& record, Instant now) {
  if (record.source_unsettled && !is_live(record.status)) {
    const auto told = tell_owner(kind, delivery.message->owner.value_or(Owner{}),
                                 poison_of(record, parts_.rules->profile()));
    if (!told) {
      parts_.hooks.warn("cannot tell the owner of dead letter " + to_string(record.id) + ": " +
                        told.error().detail + " Its lease runs out and this is tried again.");
      return;
    }
  }
  if (settle(kind, delivery.lease, DeadLettered{}, now)) {
    mark_settled({record.id, record.occurrence});
  }
}

Result<void> DurableRuntime::settle(PoisonKind kind, const LeaseToken& token, Ending ending,
                                    Instant now) {
  const Settlement settlement{token, std::move(ending)};
  const auto answers = queue(kind).settle({&settlement, 1}, now);
  if (!answers) return answers.error();
  if (answers->front().settled == Settled::lease_lost) return lost(token);
  return {};
}

Decision DurableRuntime::check_before_run(const Delivery& delivery) const {
  const auto limit = call_limit_of(delivery.trail);
  return delivery.interrupted
             ? parts_.rules->resume(delivery.counters, delivery.last_error, limit)
             : parts_.rules->before_run(delivery.counters, delivery.last_error, limit);
}

Result<std::vector<Delivery>> DurableRuntime::fetch(PoisonKind kind, std::size_t limit,
                                                    Millis lease_for, Instant now) {
  auto received = queue(kind).receive({.limit = limit, .lease_for = lease_for}, now);
  if (!received) return received.error();
  held_[index(kind)].forget_lapsed(now.steady);
  const auto known = known_records(*received);
  if (!known) {
    give_back(kind, *received, now);
    return known.error();
  }
  std::vector<Delivery> handed;
  for (std::size_t i = 0; i < received->size(); ++i) {
    Delivery& delivery = (*received)[i];
    if ((*known)[i]) {
      finish_repeat(kind, delivery, *(*known)[i], now);
      continue;
    }
    if (delivery.interrupted) {
      delivery.trail = with_cut_off_runs(delivery, now.wall, parts_.node);
    }
    const Decision decision = check_before_run(delivery);
    if (std::holds_alternative<DeadLetterAs>(decision.verdict)) {
      condemn(kind, delivery, decision, now);
      continue;
    }
    delivery.counters = decision.counters;
    held_[index(kind)].keep(delivery.lease, {delivery});
    handed.push_back(std::move(delivery));
  }
  return handed;
}

Result<void> DurableRuntime::start(PoisonKind kind, const LeaseToken& token, Instant now) {
  auto& held = held_[index(kind)];
  if (!held.change(token, [](Out&) {})) return lost(token);
  const auto live = queue(kind).start({&token, 1}, now);
  if (!live) return live.error();
  if (!live->front()) {
    (void)held.take(token, now.steady);
    return lost(token);
  }
  const bool known = held.change(token, [&](Out& out) {
    if (!out.run) out.run = AbandonedRun{RuleBook::started(out.delivery.counters), now.wall};
  });
  if (!known) return lost(token);
  return {};
}

Result<void> DurableRuntime::renew(PoisonKind kind, const LeaseToken& token, Millis lease_for,
                                   Instant now) {
  const auto live = queue(kind).renew({&token, 1}, now, lease_for);
  if (!live) return live.error();
  const bool known = held_[index(kind)].change(token, [&](Out& held) {
    if (!live->front()) return;
    Delivery& delivery = held.delivery;
    delivery.leased_until = std::max(delivery.leased_until, now.wall + lease_for);
    delivery.steady_until = std::max(delivery.steady_until, now.steady + lease_for);
  });
  if (!known || !live->front()) return lost(token);
  return {};
}

/// A retried item that now succeeded closes the record it came from.
Result<void> DurableRuntime::close_record(const Delivery& delivery, TimePoint now) {
  const auto lineage = lineage_of(delivery.message->headers);
  if (!lineage) return {};
  const auto known = parts_.office.get(lineage->id);
  if (!known && known.error().code == Code::not_found) return {};
  if (!known) return known.error();
  const DeadLetter& record = known->record;
  const bool awaited = record.status == Status::replaying || record.status == Status::replayed;
  if (!awaited || record.occurrence != lineage->replay) return {};
  const Change closed =
      Transition{.id = record.id,
                 .expected_version = record.version,
                 .to = Status::resolved,
                 .now = now,
                 .clear_next_retry = true,
                 .resolution = Resolution{.at = now, .by = "", .how = "retried", .notes = ""}};
  const auto applied = parts_.office.apply({&closed, 1});
  if (!applied && applied.error().code != Code::conflict) return applied.error();
  return {};
}

Result<void> DurableRuntime::complete(PoisonKind kind, const LeaseToken& token, Instant now) {
  const auto out = held_[index(kind)].take(token, now.steady);
  if (!out) return lost(token);
  if (lineage_of(out->delivery.message->headers)) {
    if (auto held = keep_lease(kind, out->delivery, now); !held) return held;
  }
  // If the settle below is lost the item runs again under the same id; its record stays closed.
  const auto closed = close_record(out->delivery, now.wall);
  if (!closed) return closed;
  return settle(kind, token, Completed{}, now);
}

Result<AbandonResult> DurableRuntime::release(PoisonKind kind, const Out& out,
                                              const AbandonOptions& options,
                                              const AbandonDecision& decision, Instant now) {
  Ending ending = release_of(out.delivery, options, decision, out.run, now.wall, parts_.node);
  const auto settled = settle(kind, out.delivery.lease, std::move(ending), now);
  if (!settled) return settled.error();
  return AbandonResult{Released{}};
}

Result<void> DurableRuntime::poison_abandoned(PoisonKind kind, const Out& out,
                                              const AbandonOptions& options,
                                              const AbandonDecision& decision, Instant now) {
  const Delivery& delivery = out.delivery;
  const Poison value = poison_of(delivery, decision, options.error_message);
  DeadLetter record =
      poison_record(delivery, decision, value, parts_.rules->profile(), parts_.node, now.wall);
  std::vector<Attempt> attempts = attempts_of(delivery.trail);
  if (out.run && is_execution(options)) {
    Decision end;
    end.category = record.category;
    attempts.push_back(make_attempt(out.run->counters, out.run->started, now.wall,
                                    OutcomeKind::failed, end, record.failure, parts_.node));
  }
  const auto kept = keep(kind, delivery, std::move(record), std::move(attempts), now);
  if (!kept) return kept.error();
  return finish(kind, delivery, *kept, value, now);
}

Result<AbandonResult> DurableRuntime::abandon(PoisonKind kind, const LeaseToken& token,
                                              const AbandonOptions& options, Instant now) {
  const auto out = held_[index(kind)].take(token, now.steady);
  if (!out) return lost(token);
  const bool ran = out->run && is_execution(options);
  const AbandonDecision decision =
      decide_abandon(parts_.rules->profile(), ran ? out->run->counters : out->delivery.counters,
                     options, true, call_limit_of(out->delivery.trail));
  Result<AbandonResult> answer = decision.result;
  if (std::holds_alternative<Released>(decision.result)) {
    answer = release(kind, *out, options, decision, now);
  } else if (const auto done = poison_abandoned(kind, *out, options, decision, now); !done) {
    answer = done.error();
  }
  if (!answer && answer.error().code != Code::lease_lost) {
    parts_.hooks.warn("abandon of " + to_string(token) + " failed: " + answer.error().detail +
                      " Its lease runs out and the item comes back.");
  }
  return answer;
}

Result<void> DurableRuntime::return_unprocessed(PoisonKind kind, const LeaseToken& token,
                                                Instant now) {
  if (!held_[index(kind)].take(token, now.steady)) return {};  // its queue has it already
  const auto settled = settle(kind, token, ReleasedUnrun{}, now);
  if (!settled && settled.error().code == Code::lease_lost) return {};
  return settled;
}

Result<void> DurableRuntime::tell_owner(PoisonKind kind, const Owner& owner, const Poison& poison) {
  if (kind == PoisonKind::activity) return parts_.hooks.fail_activity(owner, poison);
  const auto failed = parts_.hooks.fail_orchestration(owner, poison);
  if (!failed || owner.parent.empty()) return failed;
  return parts_.hooks.notify_parent(owner, poison);
}

/// What the profile will not have run again: its words, and the error of the last run (I9).
void DurableRuntime::condemn(PoisonKind kind, const Delivery& delivery, const Decision& decision,
                             Instant now) {
  const auto& death = std::get<DeadLetterAs>(decision.verdict);
  const Profile& profile = parts_.rules->profile();
  const AbandonDecision condemned{Poisoned{poison_count(profile, decision.counters)},
                                  decision.counters, decision.limit.value_or(profile.limit)};
  const Poison value = poison_of(delivery, condemned, std::nullopt);
  DeadLetter record = poison_record(delivery, condemned, value, profile, parts_.node, now.wall);
  record.reason = death.reason;
  record.description = redact(death.description);
  const auto kept = keep(kind, delivery, std::move(record), attempts_of(delivery.trail), now);
  // What may have been written is looked up when its lease has run out (R2).
  if (!kept && kept.error().code != Code::timed_out) give_back(kind, {delivery}, now);
  const auto done = kept ? finish(kind, delivery, *kept, value, now) : kept.error();
  if (!done) parts_.hooks.warn("cannot quarantine an item: " + done.error().detail);
}

Result<SourceSettled> DurableRuntime::keep(PoisonKind kind, const Delivery& delivery,
                                           DeadLetter record, std::vector<Attempt> attempts,
                                           Instant now) {
  if (auto held = keep_lease(kind, delivery, now); !held) return held.error();
  const auto named = writer_.name(delivery, record);
  if (!named) return named.error();
  const RecordId id = record.id;
  std::vector<Change> changes{
      Append{std::make_shared<const DeadLetter>(std::move(record)), std::move(attempts)}};
  add_death_audit(changes, "runtime", now.wall);
  const auto kept = parts_.office.apply(changes);
  if (!kept) return kept.error();
  return SourceSettled{id, kept->front().occurrence};
}

Result<void> DurableRuntime::finish(PoisonKind kind, const Delivery& delivery,
                                    const SourceSettled& kept, const Poison& value, Instant now) {
  const auto told = tell_owner(kind, delivery.message->owner.value_or(Owner{}), value);
  if (!told) return told.error();
  const auto settled = settle(kind, delivery.lease, DeadLettered{}, now);
  if (settled) mark_settled(kept);
  return settled;
}

/// A mark that stays only makes repeats merge, so a failure here needs no answer.
void DurableRuntime::mark_settled(const SourceSettled& record) {
  const Change change = record;
  (void)parts_.office.apply({&change, 1});
}

Result<std::vector<PoisonItem>> DurableRuntime::list_poison(
    PoisonKind kind, const std::optional<std::string>& instance) {
  PoisonBook* book = parts_.office.extras().poison;
  if (book == nullptr) return std::vector<PoisonItem>{};
  PoisonQuery query{.kind = kind, .instance = instance};
  std::vector<PoisonItem> all;
  while (true) {
    auto page = book->list(query);
    if (!page) return page;
    std::move(page->begin(), page->end(), std::back_inserter(all));
    if (page->size() < query.limit) return all;
    query.after = all.back().poison_id;
  }
}

Result<std::optional<PoisonDetail>> DurableRuntime::get_poison(PoisonKind kind,
                                                               std::int64_t poison_id) {
  PoisonBook* book = parts_.office.extras().poison;
  if (book == nullptr) return std::optional<PoisonDetail>{};
  return book->get(kind, poison_id);
}

Result<bool> DurableRuntime::remove_poison(PoisonKind kind, std::int64_t poison_id, TimePoint now) {
  const auto detail = get_poison(kind, poison_id);
  if (!detail) return detail.error();
  if (!*detail) return false;
  const Change change =
      Transition{.id = (*detail)->item.record, .to = Status::discarding, .now = now};
  const auto applied = parts_.office.apply({&change, 1});
  if (applied) return true;
  // Somebody else took it out between the look and the act: for the caller it is simply gone.
  if (applied.error().code == Code::conflict) return false;
  return applied.error();
}

Result<bool> DurableRuntime::retry_poison(PoisonKind kind, std::int64_t poison_id, Instant now) {
  for (int left = most_tries; left > 0; --left) {
    const auto detail = get_poison(kind, poison_id);
    if (!detail) return detail.error();
    if (!*detail) return false;
    const auto whole = parts_.office.get((*detail)->item.record);
    if (!whole) return whole.error();
    const DeadLetter& record = whole->record;
    const Counters counters = after_replay(record.counters, ReplayCount::restart);
    const Change sending = Transition{.id = record.id,
                                      .expected_version = record.version,
                                      .lease_for = replay_lease,
                                      .to = Status::replaying,
                                      .now = now.wall,
                                      .counters = counters};
    const auto begun = parts_.office.apply({&sending, 1});
    if (begun) return send_poison(kind, *whole, counters, begun->front().lease, now);
    // Somebody touched it: if another retry or removal won, it is not there any more.
    if (begun.error().code != Code::conflict) return begun.error();
  }
  return false;
}

Result<bool> DurableRuntime::send_poison(PoisonKind kind, const RecordDetail& whole,
                                         const Counters& counters,
                                         const std::optional<LeaseToken>& lease, Instant now) {
  const Publication again = replay_of(whole, counters);
  const auto published = queue(kind).publish({&again, 1}, now);
  // It stays `replaying`, since it may have arrived; whoever looks after the office (JobRunner) has
  // it back once the lease has run out.
  if (!published) return published.error();
  const Change sent =
      Transition{.id = whole.record.id, .lease = lease, .to = Status::replayed, .now = now.wall};
  const auto done = parts_.office.apply({&sent, 1});
  // The item may have run, and even died again, before this mark was made.
  const bool overtaken =
      !done && (done.error().code == Code::conflict || done.error().code == Code::lease_lost);
  if (!done && !overtaken) return done.error();
  return true;
}

Result<DurableStats> DurableRuntime::stats(Instant now) {
  DurableStats stats;
  const auto depth = [&](PoisonKind kind, std::uint64_t& into) -> Result<void> {
    const auto numbers = queue(kind).stats(now);
    if (!numbers) return numbers.error();
    into = numbers->ready + numbers->delayed + numbers->leased + numbers->held;
    return {};
  };
  if (auto failed = depth(PoisonKind::orchestration, stats.orchestrator_queue); !failed) {
    return failed.error();
  }
  if (auto failed = depth(PoisonKind::activity, stats.worker_queue); !failed) {
    return failed.error();
  }
  PoisonBook* book = parts_.office.extras().poison;
  if (book == nullptr) return stats;
  const auto orchestrations = book->count(PoisonKind::orchestration);
  if (!orchestrations) return orchestrations.error();
  const auto activities = book->count(PoisonKind::activity);
  if (!activities) return activities.error();
  stats.poison_orchestrator_count = *orchestrations;
  stats.poison_worker_count = *activities;
  return stats;
}

}  // namespace dlo
