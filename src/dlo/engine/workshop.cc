#include "dlo/engine/workshop.h"

#include <algorithm>
#include <utility>

#include "dlo/core/breaker.h"
#include "dlo/core/duration.h"
#include "dlo/core/identity.h"
#include "dlo/core/redact.h"
#include "dlo/engine/capture.h"

namespace dlo {
namespace {

constexpr Millis look_again_in{200};
constexpr std::int64_t chunk_nanos = 200'000;

}  // namespace

Failure timeout_failure(Millis timeout) {
  Failure failure;
  failure.type = "HandlerTimeout";
  failure.code = "timed_out";
  failure.text = "the handler did not finish within " + print_duration(timeout) + " (timeout)";
  return failure;
}

bool is_answer(const Plan& plan, bool target_failed) {
  if (target_failed) return false;
  if (std::holds_alternative<RejectToCaller>(plan.decision.verdict)) return true;
  const auto* death = std::get_if<DeadLetterAs>(&plan.decision.verdict);
  return death != nullptr && !death->exhausted;
}

void Workshop::carry_out(Item& item, Plan plan) {
  if (plan.needs_office()) {
    parts_.recorder.push({&item, std::move(plan)});
  } else {
    parts_.settler.push({&item, plan.kind, std::move(plan.ending)});
  }
}

void Workshop::release(Item& item) {
  Plan plan;
  plan.kind = Plan::Kind::release;
  plan.ending = ReleasedUnrun{};
  parts_.suspects.end(item);
  carry_out(item, std::move(plan));
}

void Workshop::give_back(Item& item) {
  if (item.started) item.entry->breaker.take_back(item.ticket, parts_.clock.now());
  release(item);
}

/// Its handler could not begin with it. That costs nothing, but the next one is asked after a
/// pause: a handler that refuses at once must not keep everybody busy.
void Workshop::not_run(Item& item, TimePoint now) {
  item.entry->breaker.take_back(item.ticket, now);
  item.started = false;
  item.refused = true;
  parts_.suspects.end(item);
  parts_.scheduler.defer(&item, now + look_again_in);
}

bool Workshop::prepare_one(Item& item, bool exclusive, TimePoint now) {
  // Its lease ended in our buffer and nothing was counted (S3-30), or its handler has no use for it
  // now.
  if (item.lost.load() || item.refused) {
    release(item);
    return false;
  }
  Prepared prepared = parts_.procedure.prepare(item, now, parts_.dice.roll());
  if (auto* look_again = std::get_if<LookAgain>(&prepared)) {
    parts_.board.down(StatusBoard::lookup, look_again->error);
    parts_.scheduler.defer(&item, now + look_again_in);
    return false;
  }
  if (item.delivery.may_be_repeat || item.suspect) parts_.board.up(StatusBoard::lookup);
  if (auto* plan = std::get_if<Plan>(&prepared)) {
    if (parts_.events != nullptr && plan->kind == Plan::Kind::drop) {
      parts_.events->dropped(*item.delivery.message, plan->decision.because);
    }
    carry_out(item, std::move(*plan));
    return false;
  }
  if (const auto* postpone = std::get_if<Postpone>(&prepared)) {
    parts_.settler.push({&item, Plan::Kind::release, Abandoned{false, postpone->until, ""}});
    return false;
  }
  if (item.suspect && exclusive) {
    if (auto marked = parts_.suspects.mark(item, now + options_.suspect_window); !marked) {
      parts_.board.down(StatusBoard::lookup, marked.error());
      item.entry->breaker.take_back(item.ticket, now);
      parts_.scheduler.defer(&item, now + look_again_in);
      return false;
    }
  }
  return true;
}

/// Leaves in `chunk` what is to be run.
void Workshop::prepare(std::vector<Item*>& chunk, bool exclusive, TimePoint now) {
  std::erase_if(chunk,
                [&](Item* item) { return !item->started && !prepare_one(*item, exclusive, now); });
}

/// One mark for the chunk that is about to run, and for nothing else (R1).
void Workshop::mark_starts(std::vector<Item*>& chunk, TimePoint now) {
  if (chunk.empty() || chunk.front()->started) return;
  thread_local std::vector<LeaseToken> leases;
  leases.clear();
  for (const Item* item : chunk) leases.push_back(item->delivery.lease);
  const auto alive = parts_.broker.start(leases, parts_.clock.instant());
  if (!alive) {
    parts_.board.source_down(StatusBoard::counts, alive.error());
    for (Item* item : chunk) {
      item->entry->breaker.take_back(item->ticket, now);
      parts_.scheduler.defer(item, now + look_again_in);
    }
    chunk.clear();
    return;
  }
  if (std::ranges::any_of(chunk, [](const Item* item) { return item->delivery.may_be_repeat; })) {
    parts_.board.up(StatusBoard::counts);  // those are noted there
  }
  std::size_t place = 0;
  std::erase_if(chunk, [&](Item* item) {
    if ((*alive)[place++]) {
      item->started = true;
      item->running = RuleBook::started(item->delivery.counters);
      return false;
    }
    item->lost.store(true);
    item->entry->breaker.take_back(item->ticket, now);
    release(*item);
    return true;
  });
  parts_.counts.started.fetch_add(chunk.size());
}

bool Workshop::run_chunk(Slot& slot, std::vector<Item*>& chunk, bool exclusive) {
  const Item* suspect = chunk.size() == 1 && chunk.front()->suspect ? chunk.front() : nullptr;
  const std::size_t taken = chunk.size();
  Instant now = parts_.clock.instant();
  prepare(chunk, exclusive, now.wall);
  mark_starts(chunk, now.wall);
  if (chunk.size() < taken) {
    parts_.scheduler.finished(taken - chunk.size(), chunk.empty() ? suspect : nullptr);
  }
  if (chunk.empty()) return true;
  if (suspect != nullptr) {
    parts_.counts.suspects.fetch_add(1);
    if (parts_.events != nullptr) parts_.events->suspect_started(*suspect->delivery.message);
  }

  slot.load(chunk);
  const auto began = parts_.clock.ticks();
  std::size_t ran = 0;
  while (Item* item = slot.enter(now, options_.handler_timeout)) {
    if (!attempt(slot, *item, now.wall)) return false;
    ++ran;
    now = parts_.clock.instant();
  }
  if (const auto unbegun = slot.take_unbegun(); !unbegun.empty()) {
    parts_.scheduler.put_back(unbegun);
  }
  observe(parts_.clock.ticks() - began, ran);
  thread_local std::vector<Item*> done;
  done.clear();
  slot.take_done(done);
  parts_.settler.push_completed(done);
  parts_.scheduler.finished(slot.take_owed(), suspect);
  return true;
}

Workshop::Tried Workshop::run_tries(Slot& slot, const Item& item, TimePoint started, bool plain) {
  const Message& message = *item.delivery.message;
  RunContext context;
  std::optional<RecordId> record;
  if (auto known = parts_.procedure.record_of(item)) {
    record = known->id;
    context.id = known->id;
    context.occurrence = known->occurrence;
    context.metadata = std::move(known->metadata);
  } else {
    context.id = identify(message, item.delivery.lease);
  }
  context.fence = item.delivery.lease;
  context.counters = item.running;
  context.started = started;
  context.timeout = slot.timeout();
  context.stop = slot.token();
  Handler& handler = *item.entry->handler;
  Millis waited{0};
  for (std::uint32_t tries = 1;; ++tries) {
    Outcome outcome = run_captured(handler, message, context);
    const bool settle = plain && outcome.kind == OutcomeKind::ok;
    const Slot::Left left = slot.leave(settle);
    // Let go: nothing but the slot may be touched any more.
    if (left.gone) return {true, false, left.cause, {}, record};
    std::optional<Millis> wait;
    if (left.cause == Slot::StopCause::none && outcome.kind != OutcomeKind::ok) {
      wait = parts_.procedure.rules(item).try_again(outcome, tries, waited, parts_.dice.roll());
    }
    if (!wait) {
      const bool settled = settle && left.cause == Slot::StopCause::none;
      return {false, settled, left.cause, std::move(outcome), record};
    }
    waited = *wait;
    if (!slot.wait(parts_.clock, parts_.clock.now() + waited)) {
      return {false, false, slot.glance().cause, std::move(outcome), record};
    }
    slot.reenter();
  }
}

bool Workshop::attempt(Slot& slot, Item& item, TimePoint started) {
  if (!item.entry->breaker.stands(item.ticket)) {  // one before it in the chunk opened the circuit
    if (slot.leave(false).gone) return false;
    give_back(item);
    slot.end();
    return true;
  }
  if (parts_.events != nullptr) parts_.events->started(*item.delivery.message, item.running);
  const bool plain =
      parts_.events == nullptr && !item.entry->breaker.exists() && !item.marked_exclusive;
  const Millis timeout = slot.timeout();
  Tried tried = run_tries(slot, item, started, plain);
  if (tried.gone) return false;
  if (tried.settled) return true;
  conclude(item, std::move(tried), started, timeout);
  slot.end();
  return true;
}

/// Somebody else owns it now. If that is a person who closed its record, the run is a row of it all
/// the same: its start is counted there.
void Workshop::conclude_lost(Item& item, Tried tried, TimePoint started, TimePoint now) {
  const bool ok = tried.outcome.kind == OutcomeKind::ok;
  if (!ok && tried.cause == Slot::StopCause::lease) {
    // Told to stop, for somebody has moved the record: that says nothing about its handler.
    item.entry->breaker.take_back(item.ticket, now);
  } else {
    report(item, ok, now);
  }
  if (tried.record && tried.outcome.kind != OutcomeKind::never_started) {
    parts_.procedure.overruled(item, *tried.record, std::move(tried.outcome), started, now);
  }
  release(item);  // the settler forgets it
}

void Workshop::conclude(Item& item, Tried tried, TimePoint started, Millis timeout) {
  const TimePoint now = parts_.clock.now();
  if (item.lost.load()) return conclude_lost(item, std::move(tried), started, now);
  const Slot::StopCause cause = tried.cause;
  Outcome& outcome = tried.outcome;
  if (cause == Slot::StopCause::timeout) {
    if (parts_.events != nullptr) {
      parts_.events->handler_timed_out(*item.delivery.message, false);
    }
    timed_out(item, started, timeout);
    return;
  }
  if (outcome.kind == OutcomeKind::ok) {
    succeed(item, started, now);
  } else if (cause == Slot::StopCause::engine) {
    give_back(item);  // we told it to stop: that is no failure of its own (I8)
  } else if (outcome.kind == OutcomeKind::never_started) {
    not_run(item, now);
  } else {
    fail(item, std::move(outcome), started, now);
  }
}

void Workshop::timed_out(Item& item, TimePoint since, Millis timeout) {
  parts_.counts.timeouts.fetch_add(1);
  fail(item, {OutcomeKind::failed, timeout_failure(timeout)}, since, parts_.clock.now());
}

void Workshop::succeed(Item& item, TimePoint started, TimePoint now) {
  report(item, true, now);
  if (parts_.events != nullptr) {
    parts_.events->succeeded(*item.delivery.message, item.running, now - started);
  }
  carry_out(item, parts_.procedure.after_success(item));
}

/// A probe that went nowhere: as if it had not been run, until the next one may be sent.
void Workshop::reached_nobody(Item& item, TimePoint now) {
  report(item, false, now);
  parts_.suspects.end(item);
  const TimePoint until = std::max(item.entry->breaker.gate(now).ask_again, now + look_again_in);
  parts_.settler.push({&item, Plan::Kind::release, Abandoned{false, until, ""}});
}

void Workshop::fail(Item& item, Outcome outcome, TimePoint started, TimePoint now) {
  if (costs_no_attempt(item.ticket, outcome.failure)) return reached_nobody(item, now);
  EngineEvents* events = parts_.events;
  Failure reported;
  if (events != nullptr) {
    reported = outcome.failure;
    redact(reported);  // what is not kept is not told either (R26)
  }
  const bool target_failed = says_target_failed(outcome.failure);
  Plan plan =
      parts_.procedure.after_failure(item, std::move(outcome), started, now, parts_.dice.roll());
  report(item, is_answer(plan, target_failed), now);
  if (events != nullptr) {
    const Message& message = *item.delivery.message;
    events->failed(message, reported, plan.decision, now - started);
    if (plan.kind == Plan::Kind::retry && plan.again) events->retried(message, *plan.again);
  }
  carry_out(item, std::move(plan));
}

void Workshop::report(const Item& item, bool ok, TimePoint now) {
  const auto moved = item.entry->breaker.report(item.ticket, ok, now, parts_.dice.roll());
  if (!moved) return;
  if (*moved == BreakerState::closed) parts_.procedure.circuit_closed();
  parts_.bell.ring();
  if (parts_.events != nullptr) parts_.events->breaker_moved(item.entry->name, *moved);
}

void Workshop::observe(std::chrono::nanoseconds took, std::size_t count) {
  if (count == 0) return;
  const std::int64_t each = took.count() / static_cast<std::int64_t>(count);
  const std::int64_t before = usual_nanos_.load(std::memory_order_relaxed);
  // Slower is believed at once, faster only by and by.
  const std::int64_t usual = each > before ? each : (before * 3 + each) / 4;
  usual_nanos_.store(usual, std::memory_order_relaxed);
  const std::int64_t fits = chunk_nanos / std::max<std::int64_t>(usual, 1);
  chunk_limit_.store(std::clamp<std::size_t>(static_cast<std::size_t>(fits), 1, options_.max_chunk),
                     std::memory_order_relaxed);
}

}  // namespace dlo
