#include <algorithm>
#include <utility>

#include "dlo/broker/embedded/depot.h"
#include "dlo/broker/moments.h"

namespace dlo::embedded {
namespace {

void give_back(std::uint32_t& count) noexcept {
  if (count > 0) --count;
}

/// What it was before it was claimed: without the claim, and the start if there was one (I8).
void unclaim(const Lease& lease, MessageState& state) {
  give_back(state.counters.fetch);
  if (!lease.started) return;
  state.counters = without_start(state.counters);
  if (lease.first_start) state.first_attempt_at.reset();
}

void note(MessageState& state, const std::string& error, const std::string& trail) {
  state.last_error = error;
  state.trail = trail;
}

}  // namespace

/// How one lease ends: exactly one of the three is written.
struct Depot::Ended {
  Lease* lease = nullptr;
  std::optional<StateRecord> state;
  std::optional<Removal> removal;
  std::optional<Return> back;
  std::uint32_t abandon_count = 0;
};

/// What an ending makes of a message. Changes nothing: it is written down first.
Depot::Ended Depot::decide(Lease& lease, const Ending& ending, TimePoint now) {
  Ended ended;
  ended.lease = &lease;
  const Slot& slot = holdings_.slots()[lease.slot];
  const QueueState& queue = holdings_.queue_of(lease.slot);
  const auto remove = [&](Why why) {
    ended.removal = Removal{lease.slot, why, lease.body.location.segment};
  };
  const auto wait = [&](TimePoint again_at, MessageState state, bool repeat) {
    StateRecord record;
    record.slot = lease.slot;
    record.due = std::max(again_at, now);
    if (lease.expires_at) record.due = std::max(now, std::min(record.due, *lease.expires_at));
    record.repeat = repeat;
    record.body = lease.body;
    record.state = std::move(state);
    ended.state = std::move(record);
  };
  if (const auto* dead = std::get_if<DeadLettered>(&ending)) {
    const bool hold = slot.keyed && (dead->hold_key || queue.options().on_death == OnDeath::hold);
    if (queue.record.keeps_dead) {
      MessageState state = lease.state;
      if (!dead->error.empty()) state.last_error = dead->error;
      wait(now, std::move(state), false);
      ended.state->dead = true;
      ended.state->holds_key = hold;
    } else {
      remove(hold ? Why::dead_and_held : Why::dead_lettered);
    }
  } else if (std::holds_alternative<ReleasedUnrun>(ending)) {
    ended.back = Return{lease.slot, slot.repeat, now};
  } else if (const auto* failed = std::get_if<Failed>(&ending)) {
    MessageState state = lease.state;
    state.counters = failed->counters;
    state.previous_delay = failed->delay;
    state.interrupted = false;
    state.interruptions = 0;
    note(state, failed->error, failed->trail);
    wait(failed->again_at, std::move(state), false);
  } else if (const auto* abandoned = std::get_if<Abandoned>(&ending)) {
    MessageState state = lease.state;
    bool repeat = slot.repeat;
    if (abandoned->increment_count) {
      state.counters = after_abandon(*abandoned, state.counters);
      repeat = state.interrupted = false;
      state.interruptions = 0;
    } else {
      unclaim(lease, state);
    }
    state.previous_delay = std::max(Millis{0}, abandoned->again_at - now);
    if (!abandoned->error.empty()) state.last_error = abandoned->error;
    if (!abandoned->trail.empty()) state.trail = abandoned->trail;
    ended.abandon_count = state.counters.abandon;
    wait(abandoned->again_at, std::move(state), repeat);
  }
  return ended;
}

// All endings of one call, as one list: states one by one, the rest together.
Result<Placed> Depot::write(const std::vector<Ended>& ended, const std::vector<Lease*>& completed,
                            TimePoint now) {
  RecordList records;
  std::vector<SlotNumber> done;
  std::vector<Removal> removed;
  std::vector<Return> returned;
  for (const Ended& each : ended) {
    if (each.state) {
      std::string bytes;
      embedded::encode(*each.state, bytes);
      records.add(RecordType::state, std::move(bytes));
    } else if (each.back) {
      returned.push_back(*each.back);
    } else {
      removed.push_back(*each.removal);
    }
  }
  done.reserve(completed.size());
  for (const Lease* lease : completed) {
    if (holdings_.slots()[lease->slot].has_state) {
      removed.push_back({lease->slot, Why::completed, lease->body.location.segment});
    } else {
      done.push_back(lease->slot);
    }
  }
  const auto add = [&](RecordType type, auto&& encoding) {
    std::string bytes;
    encoding(bytes);
    records.add(type, std::move(bytes));
  };
  if (!done.empty()) {
    add(RecordType::completed, [&](std::string& out) {
      ByteWriter(out).moment(now);
      encode_slots(done, out);
    });
  }
  if (!removed.empty()) {
    add(RecordType::removed, [&](std::string& out) { embedded::encode(removed, now, out); });
  }
  if (!returned.empty()) {
    add(RecordType::returned, [&](std::string& out) { embedded::encode(returned, out); });
  }
  return append(records);
}

void Depot::carry_out(const std::vector<Ended>& ended, const Placed& placed, TimePoint now) {
  std::size_t state = 0;  // states come first in the list
  for (const Ended& each : ended) {
    if (each.state) {
      holdings_.set_state(*each.state, placed.at(state++), now);
    } else if (each.back) {
      holdings_.return_unchanged(*each.back, now);
    } else {
      holdings_.remove(*each.removal, now);
    }
  }
}

Lease* Depot::find(const LeaseToken& token, std::uint16_t queue) noexcept {
  if (token.high >> 32 != epoch_ || token.low == 0) return nullptr;
  Lease* lease = holdings_.find(static_cast<SlotNumber>(token.high), token.low);
  if (lease == nullptr || holdings_.slots()[lease->slot].queue != queue) return nullptr;
  return holdings_.is_over(*lease) ? nullptr : lease;
}

Result<std::vector<SettleAnswer>> Depot::settle(std::uint16_t number,
                                                std::span<const Settlement> settlements,
                                                Instant now) {
  auto settled = end(number, settlements, now);
  if (!settled) return settled.error();
  return made_durable(std::move(*settled));
}

Result<std::vector<SettleAnswer>> Depot::made_durable(SettledSoon settled) {
  if (settled.awaited != 0) {
    if (const auto durable = journal_->durable(settled.awaited); !durable) return durable.error();
  }
  return std::move(settled.answers);
}

Result<Depot::SettledSoon> Depot::end(std::uint16_t number, std::span<const Settlement> settlements,
                                      Instant now) {
  std::vector<SettleAnswer> answers(settlements.size());
  if (const auto room = wait_for_room(true); !room) return room.error();
  std::uint64_t last = 0;
  {
    Lock lock(mutex_);
    if (const auto ok = usable(number, "embedded.settle"); !ok) return ok.error();
    advance(now);
    std::vector<Ended> ended;
    std::vector<Lease*> completed;  // most of them, by far, and there is nothing to decide
    for (std::size_t i = 0; i < settlements.size(); ++i) {
      Lease* lease = find(settlements[i].lease, number);
      if (lease == nullptr) {
        answers[i].settled = Settled::lease_lost;
        continue;
      }
      lease->ending = true;  // a second settlement of it in this call finds it lost
      if (std::holds_alternative<Completed>(settlements[i].ending)) {
        completed.push_back(lease);
        continue;
      }
      ended.push_back(decide(*lease, settlements[i].ending, now.wall));
      answers[i].abandon_count = ended.back().abandon_count;
    }
    if (ended.empty() && completed.empty()) {
      if (const auto done = hand_over_ends(lock); !done) return done.error();
      return SettledSoon{std::move(answers), 0};
    }
    const auto placed = write(ended, completed, now.wall);
    if (!placed) {
      for (const Ended& each : ended) each.lease->ending = false;
      for (Lease* lease : completed) lease->ending = false;
      return placed.error();
    }
    carry_out(ended, *placed, now.wall);
    for (const Lease* lease : completed) {
      holdings_.remove({lease->slot, Why::completed, lease->body.location.segment}, now.wall);
    }
    last = placed->last;
    ring(number, ended.size() + completed.size());
    tidy_if_due();
  }
  return SettledSoon{std::move(answers), last};
}

// Leases that ran out, or whose holder died with the last process.
Result<void> Depot::end_leases(const std::vector<Lease*>& leases, const Instant& now) {
  std::vector<Ended> ended;
  for (Lease* lease : leases) {
    const QueueState& queue = holdings_.queue_of(lease->slot);
    if (!lease->loaded) {  // its receiver is still reading it
      holdings_.leases().timing().set(lease->index, now.steady + Millis{100});
      continue;
    }
    Ended each;
    each.lease = lease;
    if (!lease->started && !queue.options().claims_count) {
      each.back = Return{lease->slot, true, now.wall_at(lease->until)};
    } else {
      StateRecord record;
      record.slot = lease->slot;
      record.due = now.wall_at(lease->until);
      record.repeat = true;
      record.ahead = lease->started;
      record.body = lease->body;
      record.state = lease->state;
      if (lease->started) {
        record.state.interrupted = true;
        ++record.state.interruptions;
      }
      each.state = std::move(record);
    }
    ended.push_back(std::move(each));
  }
  if (ended.empty()) return {};
  const auto placed = write(ended, {}, now.wall);
  if (!placed) {  // nothing changed: look again later
    for (const Ended& each : ended) {
      holdings_.leases().timing().set(each.lease->index, now.steady + Millis{1000});
    }
    return placed.error();
  }
  carry_out(ended, *placed, now.wall);
  last_end_ = placed->last;
  ring_all();
  return {};
}

Result<std::vector<bool>> Depot::start(std::uint16_t number, std::span<const LeaseToken> leases,
                                       Instant now) {
  std::vector<bool> live(leases.size());
  std::uint64_t last = 0;
  {
    Lock lock(mutex_);
    if (const auto ok = usable(number, "embedded.start"); !ok) return ok.error();
    advance(now);
    std::vector<Lease*> starting;
    std::vector<SlotNumber> slots;
    for (std::size_t i = 0; i < leases.size(); ++i) {
      Lease* lease = find(leases[i], number);
      live[i] = lease != nullptr;
      if (lease == nullptr || lease->started) continue;
      lease->started = true;
      starting.push_back(lease);
      slots.push_back(lease->slot);
    }
    if (starting.empty()) {
      if (const auto done = hand_over_ends(lock); !done) return done.error();
      return live;
    }
    std::string record;
    ByteWriter(record).moment(now.wall);
    encode_slots(slots, record);
    RecordList records;
    records.add(RecordType::started, std::move(record));
    const auto placed = append(records);
    for (Lease* lease : starting) {
      lease->started = placed.has_value();
      if (!placed) continue;
      lease->started_at = now.wall;
      lease->state.counters = with_start(lease->state.counters);
      lease->first_start = !lease->state.first_attempt_at;
      if (lease->first_start) lease->state.first_attempt_at = now.wall;
    }
    if (!placed) return placed.error();
    last = placed->last;
  }
  if (const auto written = journal_->written(last); !written) return written.error();
  return live;
}

Result<std::vector<bool>> Depot::renew(std::uint16_t number, std::span<const LeaseToken> leases,
                                       Instant now, Millis lease_for) {
  if (lease_for < Millis{1}) {
    return refuse("embedded.renew", "lease_for must be at least 1 ms; no lease was changed");
  }
  std::vector<bool> live(leases.size());
  Lock lock(mutex_);
  if (const auto ok = usable(number, "embedded.renew"); !ok) return ok.error();
  advance(now);
  const auto until = later(now.steady, lease_for);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    Lease* lease = find(leases[i], number);
    live[i] = lease != nullptr;
    if (lease == nullptr) continue;
    lease->until = until;
    holdings_.leases().timing().set(lease->index, until);
  }
  ring(number, 2);
  if (const auto done = hand_over_ends(lock); !done) return done.error();
  return live;
}

}  // namespace dlo::embedded
