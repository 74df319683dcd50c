#include <algorithm>

#include "dlo/core/encoding.h"
#include "dlo/engine/machine.h"

namespace dlo {
namespace {

constexpr Millis look_again_in{50};
constexpr std::chrono::nanoseconds work_ahead{Millis{10}};

}  // namespace

/// What waits unbegun ages, and its lease with it: no more than keeps the threads busy until
/// somebody has been woken to fetch the next.
std::size_t Processor::Machine::prefetch_limit() const {
  if (options.prefetch > 0) return options.prefetch;
  constexpr std::size_t fewest = 2;
  const auto each = workshop.usual_time();
  const auto soon = each.count() <= 0 ? fewest : static_cast<std::size_t>(work_ahead / each);
  return options.max_concurrency *
         std::clamp(soon, fewest, std::max(fewest, options.max_chunk * 8));
}

std::size_t Processor::Machine::fetch_limit(TimePoint now, TimePoint& hold_until) {
  hold_until = now + look_again_in;
  if (!board.ok(StatusBoard::store) || !board.ok(StatusBoard::lookup) ||
      !board.ok(StatusBoard::counts) || !board.ok(StatusBoard::threads)) {
    return 0;
  }
  const std::size_t wanted = prefetch_limit();
  scheduler.ring_at(wanted / 2);
  const std::size_t waiting = scheduler.waiting();  // after that: who takes more from now on rings
  if (waiting > wanted / 2) return 0;
  const ItemPool::Room room = pool.room();
  if (room.items == 0) return 0;
  const std::size_t fits =
      std::max<std::size_t>(room.bytes / std::max<std::size_t>(pool.usual_bytes(), 1), 1);
  std::size_t limit = std::min({wanted - waiting, room.items, fits, options.receive_limit});
  // One handler, one circuit: while it is open nothing is fetched, so nothing has to be given back.
  if (const HandlerEntry* only = handlers.only()) {
    const BreakerGuard::Gate gate = only->breaker.gate(now);
    if (gate.limit) {
      limit = std::min<std::size_t>(limit, *gate.limit);
      hold_until = std::max(hold_until, gate.ask_again);
    }
    if (gate.limit && *gate.limit == 0) {
      board.down(StatusBoard::circuit,
                 {Code::unavailable, "handler " + only->name,
                  "too many failures; next probe at " + to_iso8601(gate.ask_again)});
    } else {
      board.up(StatusBoard::circuit);
    }
  }
  return limit;
}

std::size_t Processor::Machine::fetch(Millis wait) {
  Instant now = clock.instant();
  TimePoint hold_until{};
  const std::size_t limit = fetch_limit(now.wall, hold_until);
  if (limit == 0) return 0;
  ReceiveRequest request{limit, options.lease_for, wait, pool.room().bytes};
  request.stop = intake_stop.get_token();
  auto received = source.receive(request, now);
  if (received && received->empty() && source.admin() != nullptr) {
    // It may be paused, and messages grow old all the same.
    now = clock.instant();
    request.wait = Millis{0};
    request.expired_only = true;
    received = source.receive(request, now);
  }
  if (!received) {
    board.source_down(StatusBoard::recall, received.error());
    return 0;
  }
  board.up(StatusBoard::recall);
  board.up(StatusBoard::source);
  const std::size_t count = received->size();
  if (count == 0) return 0;
  fetched.clear();
  pool.adopt(std::move(*received), now, fetched);
  for (Item* item : fetched) item->suspect = item->delivery.interrupted;
  counts.received.fetch_add(count);
  if (events != nullptr) events->received(count);
  scheduler.add(fetched);
  keeper_bell.ring();
  return count;
}

void Processor::Machine::intake_loop() {
  while (fetching.load()) {
    const TimePoint now = clock.now();
    TimePoint hold_until{};
    if (fetch_limit(now, hold_until) == 0) {
      bell.wait(clock, hold_until, [&] {
        TimePoint ignored{};
        return !fetching.load() || fetch_limit(clock.now(), ignored) > 0;
      });
      continue;
    }
    fetch(options.receive_wait);
    if (board.ok(StatusBoard::source) && board.ok(StatusBoard::recall)) {
      source_patience.reset();
      continue;
    }
    const TimePoint until = clock.now() + source_patience.next();
    while (fetching.load() && clock.now() < until) bell.wait(clock, until, [] { return false; });
  }
}

}  // namespace dlo
