#include "dlo/engine/machine.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "dlo/broker/moments.h"
#include "dlo/core/breaker.h"
#include "dlo/core/encoding.h"
#include "dlo/store/death_audit.h"

namespace dlo {
namespace {

constexpr Millis keeper_period{5};
constexpr Millis keeper_slow_period{1'000};

std::uint64_t draw() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) ^ device();
}

ProcessorOptions sane(ProcessorOptions options) {
  options.max_concurrency = std::max<std::size_t>(options.max_concurrency, 1);
  options.max_in_flight = std::max<std::size_t>(options.max_in_flight, 1);
  options.receive_limit = std::max<std::size_t>(options.receive_limit, 1);
  options.max_chunk = std::max<std::size_t>(options.max_chunk, 1);
  options.lease_for = std::max(options.lease_for, Millis{10});
  if (options.seed == 0) options.seed = draw();
  return options;
}

std::string boot_name(const std::string& node) {
  return node + "/" + to_string(Id128{draw(), draw()});
}

}  // namespace

Processor::Machine::Machine(ProcessorParts parts, ProcessorOptions chosen)
    : options(sane(std::move(chosen))),
      source(parts.source),
      office(parts.office),
      rules(std::move(parts.rules)),
      handlers(std::move(parts.handlers)),
      clock(parts.clock),
      events(parts.events),
      listener(parts.listener),
      appending(office, options.origin.node),
      writer(parts.writer == nullptr ? appending : *parts.writer),
      suspects(office, boot_name(options.origin.node)),
      procedure(rules, handlers, std::move(parts.validators), writer, suspects, options.origin),
      pool(options.max_in_flight, options.max_in_flight_bytes, bell),
      board(events),
      dice(options.seed),
      scheduler(clock, options.suspect_window, bell),
      settler(source, pool, marks, counts, board, events, clock, writer.claims()),
      recorder(office, writer, settler, pool, marks, counts, board, events, parts.listener,
               rules->profile().owner_effect, clock, options.max_in_flight),
      workshop({source, procedure, scheduler, recorder, settler, suspects, board, counts, events,
                clock, dice, bell},
               options),
      crew(workshop, scheduler, settler, board, events, options),
      leases(source, pool, board, options.lease_for) {}

void Processor::Machine::tick(const Instant& now) {
  suspects.tick(now.wall);
  scheduler.tick(now.wall);
  leases.tick(now);
}

TimePoint Processor::Machine::keeper_rest(TimePoint now) const {
  if (pool.size() > 0) return now + keeper_period;
  if (suspects.size() > 0 || crew.lost() > 0) return now + keeper_slow_period;
  return TimePoint::max();
}

void Processor::Machine::keeper_loop() {
  std::mutex own;
  std::condition_variable never;
  std::unique_lock lock(own);
  while (keeping.load()) {
    const Instant instant = clock.instant();
    const TimePoint now = instant.wall;
    crew.tick(instant.steady);
    tick(instant);
    const TimePoint until = keeper_rest(now);
    if (until == now + keeper_period) {  // whatever is fetched meanwhile can wait for the next look
      clock.wait_until(lock, never, until);
      continue;
    }
    keeper_bell.wait(clock, until, [&] { return !keeping.load() || keeper_rest(now) < until; });
  }
}

StopReport Processor::Machine::run(std::stop_token stop) {
  {
    const std::lock_guard lock(mutex);
    if (running) return last_report;
    running = true;
    if (std::exchange(ever_ran, true)) {
      stop_asked = false;
      stop_grace.reset();
    }
  }
  scheduler.reopen();
  settler.restart();
  recorder.restart();
  intake_stop = std::stop_source();
  fetching.store(true);
  keeping.store(true);
  std::thread settling([this] { settler.run(); });
  std::thread recording([this] { recorder.run(); });
  crew.start();
  std::thread keeping_leases([this] { keeper_loop(); });
  std::thread intake([this] { intake_loop(); });

  Millis grace = options.grace;
  {
    const std::stop_callback wake(stop, [this] {
      const std::lock_guard lock(mutex);
      stop_asked = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return stop_asked; });
    grace = stop_grace.value_or(options.grace);
  }
  const TimePoint deadline = clock.now() + grace;
  fetching.store(false);
  intake_stop.request_stop();
  bell.ring();
  intake.join();
  StopReport report = shut_down(deadline);
  keeping.store(false);
  keeper_bell.ring();
  keeping_leases.join();
  recorder.stop(deadline);
  recording.join();
  settler.stop(deadline);
  settling.join();
  recorder.clear_marks();
  report.left_unsettled = pool.size();

  const std::lock_guard lock(mutex);
  last_report = report;
  running = false;
  changed.notify_all();
  return report;
}

StopReport Processor::Machine::stop(Millis grace) {
  std::unique_lock lock(mutex);
  if (!running && ever_ran) return last_report;
  stop_asked = true;
  stop_grace = grace;
  if (!running) return last_report;  // whoever is about to run finds it
  changed.notify_all();
  changed.wait(lock, [this] { return !running; });
  return last_report;
}

void Processor::Machine::release_all(const std::vector<Item*>& items) {
  for (Item* item : items) workshop.give_back(*item);
}

StopReport Processor::Machine::shut_down(TimePoint deadline) {
  release_all(scheduler.close());
  crew.interrupt_waits(clock.instant().steady);
  StopReport report;
  if (!scheduler.wait_idle(deadline)) {
    scheduler.give_up();
    crew.request_stop(clock.instant().steady);
    // A little more for those who listen to their stop token; the rest is left where it is.
    if (!scheduler.wait_idle(clock.now() + options.stop_patience)) {
      std::vector<Item*> left;
      report.left_running = crew.let_go_all(left);
      suspects.forget_all();
      pool.finish(left);
    }
  }
  crew.join();
  release_all(scheduler.close());  // what was put off or put back meanwhile
  return report;
}

std::size_t Processor::Machine::drain() {
  scheduler.reopen();
  Slot slot;
  std::vector<Item*> chunk;
  std::size_t total = 0;
  while (true) {
    tick(clock.instant());
    const std::size_t received = fetch(Millis{0});
    total += received;
    bool worked = false;
    while (true) {
      chunk.clear();
      const auto turn = scheduler.try_take(chunk, options.max_chunk);
      if (chunk.empty()) break;
      worked = true;
      workshop.run_chunk(slot, chunk, turn.exclusive);
    }
    const bool recorded = recorder.flush();
    const bool settled = settler.flush();
    recorder.clear_marks();
    if ((received == 0 && !worked) || !recorded || !settled) return total;
  }
}

Result<Processed> Processor::Machine::keep(Item& item, Plan plan) {
  std::optional<RecordId> record;
  if (plan.needs_office()) {
    const TimePoint now = clock.now();
    std::vector<Change> changes = std::move(plan.changes);
    if (plan.kind == Plan::Kind::dead || plan.kind == Plan::Kind::wait) {
      if (!plan.named) {
        if (auto named = writer.name(item.delivery, *plan.record); !named) return named.error();
      }
      plan.record->source_unsettled = false;  // whoever called holds the message
      writer.write(item.delivery, plan.record, std::move(plan.attempts), now, changes);
      record = plan.record->id;
    }
    add_death_audit(changes, "engine", now);
    if (!changes.empty()) {
      if (auto applied = office.apply(changes); !applied) return applied.error();
    }
    if (plan.kind == Plan::Kind::dead) {
      if (events != nullptr) events->dead_lettered(*plan.record);
      if (listener != nullptr) {
        auto told = tell_owner(*listener, *plan.record, rules->profile().owner_effect);
        if (!told) return told.error();
      }
    }
  }
  Result<Processed> processed{Processed{}};
  processed->decision = std::move(plan.decision);
  processed->record = record;
  return processed;
}

Result<Processed> Processor::Machine::process_one(const MessagePtr& message,
                                                  const Counters& counters) {
  Item item;
  item.delivery.message = message;
  item.delivery.counters = counters;
  item.has_caller = true;
  if (item.delivery.counters.fetch < UINT32_MAX) ++item.delivery.counters.fetch;
  Prepared prepared = procedure.prepare(item, clock.now(), dice.roll());
  if (auto* plan = std::get_if<Plan>(&prepared)) return keep(item, std::move(*plan));
  if (const auto* look_again = std::get_if<LookAgain>(&prepared)) return look_again->error;
  if (const auto* postpone = std::get_if<Postpone>(&prepared)) {
    return Error{Code::unavailable, "engine.process_one",
                 "the circuit of handler " + item.entry->name +
                     " is open: nothing was run or counted; try again at " +
                     to_iso8601(postpone->until)};
  }
  item.running = RuleBook::started(item.delivery.counters);
  return keep(item, run_here(item));
}

/// One attempt on the caller's thread. Nobody can take that thread away from its handler, but the
/// handler is told when its time is up.
Plan Processor::Machine::run_here(Item& item) {
  Slot slot;
  Item* const chunk = &item;
  slot.load({&chunk, 1});
  const Instant began = clock.instant();
  const TimePoint started = began.wall;
  slot.enter(began, options.handler_timeout);
  const Millis timeout = slot.timeout();
  std::mutex own;
  std::condition_variable over;
  bool done = false;
  std::thread watch;
  if (timeout > Millis{0}) {
    watch = std::thread([&] {
      std::unique_lock lock(own);
      const TimePoint time_up = later(began.steady, timeout);
      Instant now = clock.instant();
      for (; !done && now.steady < time_up; now = clock.instant()) {
        clock.wait_until(lock, over, now.wall_at(time_up));
      }
      if (!done) slot.request_stop(slot.glance().run, Slot::StopCause::timeout, now.steady);
    });
  }
  Workshop::Tried tried = workshop.run_tries(slot, item, started, false);
  if (watch.joinable()) {
    {
      const std::lock_guard lock(own);
      done = true;
    }
    over.notify_all();
    watch.join();
  }
  const TimePoint now = clock.now();
  if (tried.cause == Slot::StopCause::timeout) {
    counts.timeouts.fetch_add(1);
    tried.outcome = {OutcomeKind::failed, timeout_failure(timeout)};
  }
  const OutcomeKind kind = tried.outcome.kind;
  const bool ok = kind == OutcomeKind::ok;
  const bool target_failed = says_target_failed(tried.outcome.failure);
  Plan plan =
      ok ? procedure.after_success(item)
         : procedure.after_failure(item, std::move(tried.outcome), started, now, dice.roll());
  if (kind == OutcomeKind::never_started) {
    item.entry->breaker.take_back(item.ticket, now);
  } else {
    workshop.report(item, ok || is_answer(plan, target_failed), now);
  }
  return plan;
}

Result<Processed> Processor::Machine::route_failure(const MessagePtr& message, Failure failure,
                                                    const Counters& counters) {
  Item item;
  item.delivery.message = message;
  item.delivery.counters = counters;
  item.has_caller = true;
  item.running = counters;
  item.entry = handlers.find(*message);
  return keep(item, procedure.after_report(item, std::move(failure), clock.now(), dice.roll()));
}

ProcessorStats Processor::Machine::stats() const {
  ProcessorStats out;
  out.received = counts.received.load();
  out.succeeded = counts.succeeded.load();
  out.retried = counts.retried.load();
  out.dead = counts.dead.load();
  out.repeated = counts.repeated.load();
  out.dropped = counts.dropped.load();
  out.released = counts.released.load();
  out.lost = counts.lost.load();
  out.started = counts.started.load();
  out.timeouts = counts.timeouts.load();
  out.suspects = counts.suspects.load();
  out.unrecordable = counts.unrecordable.load();
  out.in_flight = pool.size();
  out.in_flight_bytes = pool.bytes();
  out.running = scheduler.running();
  out.threads = crew.size();
  out.threads_lost = crew.lost();
  out.intake_stopped_because = board.why_stopped();
  return out;
}

}  // namespace dlo
