#include "conformance/broker/model.h"

#include <algorithm>

#include "dlo/core/decide.h"

namespace dlo::testing {

std::string describe(const SourceStats& stats) {
  const auto text = [](std::uint64_t value) { return std::to_string(value); };
  return "ready " + text(stats.ready) + " delayed " + text(stats.delayed) + " leased " +
         text(stats.leased) + " held " + text(stats.held) + " published " + text(stats.published) +
         " completed " + text(stats.completed) + " dead " + text(stats.dead_lettered) +
         " expired " + text(stats.expired) + " purged " + text(stats.purged) +
         (stats.paused ? " paused" : "");
}

void BrokerModel::end_lease(Item& item, TimePoint at) {
  item.leased_until.reset();
  item.repeat = true;
  item.since = item.due = at;
  if (item.started) {
    item.started = false;
    item.interrupted = item.ahead = true;
    ++item.interruptions;
  } else if (!options_.claims_count) {
    --item.counters.fetch;
  }
}

void BrokerModel::advance(TimePoint now) {
  now_ = now;
  for (auto& [number, entry] : items_) {
    auto& item = entry.second;
    if (item.leased_until && *item.leased_until <= now) end_lease(item, *item.leased_until);
  }
}

void BrokerModel::promote() {
  if (!options_.keys_in_order) return;
  auto seen = on_hold_;
  for (auto& [number, entry] : items_) {
    auto& item = entry.second;
    if (item.key.empty() || !seen.insert(item.key).second || item.head) continue;
    item.head = true;
    item.since = now_;
  }
}

void BrokerModel::end_all_leases() {
  for (auto& [number, entry] : items_) {
    if (entry.second.leased_until) end_lease(entry.second, now_);
  }
}

void BrokerModel::wait(Item& item, TimePoint again_at) const {
  item.due = item.expires ? std::min(again_at, *item.expires) : again_at;
  item.since = now_;
}

void BrokerModel::add(std::string id, Item item) {
  items_.emplace(++last_, std::pair{std::move(id), std::move(item)});
  promote();
}

std::optional<Code> BrokerModel::room_for(std::size_t more) const {
  if (!options_.max_messages || more == 0) return std::nullopt;
  if (more > *options_.max_messages) return Code::invalid_argument;
  if (items_.size() + more > *options_.max_messages) return Code::full;
  return std::nullopt;
}

BrokerModel::Taken BrokerModel::publish(const std::vector<Sending>& list) {
  std::erase_if(seen_,
                [&](const auto& each) { return each.second.at + options_.dedupe_window <= now_; });
  Taken taken;
  auto seen = seen_;
  for (const Sending& each : list) {
    const bool counts = options_.dedupe_window > Millis{0} && !each.dedupe_id.empty();
    const auto first =
        counts ? seen.emplace(each.dedupe_id, Remembered{now_, each.id}).first : seen.end();
    const bool repeats = first != seen.end() && first->second.id != each.id;
    taken.repeats.push_back(repeats ? first->second.id : "");
  }
  const auto fresh = std::count(taken.repeats.begin(), taken.repeats.end(), "");
  taken.refused = room_for(static_cast<std::size_t>(fresh));
  if (taken.refused) {
    drop_expired();
    taken.refused = room_for(static_cast<std::size_t>(fresh));
  }
  if (taken.refused) return taken;
  seen_ = std::move(seen);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!taken.repeats[i].empty()) continue;
    Item item = list[i].item;
    if (list[i].past_hold && on_hold_.contains(item.key)) item.key.clear();
    wait(item, now_ + list[i].delay);
    ++numbers_.published;
    add(list[i].id, std::move(item));
  }
  return taken;
}

BrokerModel::Place BrokerModel::place(std::uint64_t number) const {
  const auto& item = items_.at(number).second;
  if (item.leased_until) return Place::leased;
  if (options_.keys_in_order && !item.key.empty()) {
    if (on_hold_.contains(item.key)) return Place::held;
    for (const auto& [other, entry] : items_) {
      if (other < number && entry.second.key == item.key) return Place::held;
    }
  }
  return item.due > now_ ? Place::delayed : Place::ready;
}

Millis BrokerModel::rank(const Item& item) const {
  return age(item).time_since_epoch() - options_.ageing * static_cast<int>(item.priority);
}

// Followers of a dropped one take their turn, so it is looked again until nothing changes.
void BrokerModel::drop_expired() {
  if (!options_.drop_expired) return;
  for (bool again = true; again;) {
    again = false;
    for (auto at = items_.begin(); at != items_.end(); ++at) {
      const auto& item = at->second.second;
      if (place(at->first) != Place::ready || !is_expired(item)) continue;
      items_.erase(at);
      promote();
      ++numbers_.expired;
      again = true;
      break;
    }
  }
}

void BrokerModel::begin_receive() {
  if (!numbers_.paused) drop_expired();
}

std::string BrokerModel::claim(const Delivery& got, Millis lease_for, bool check_order) {
  if (numbers_.paused) return "handed out while paused";
  auto at = std::find_if(items_.begin(), items_.end(),
                         [&](const auto& each) { return each.second.first == got.message->id; });
  if (at == items_.end()) return got.message->id + " is not here";
  auto& item = at->second.second;
  if (place(at->first) != Place::ready) return got.message->id + " is not ready";
  for (const auto& [number, entry] : items_) {
    const auto& other = entry.second;
    if (!check_order || number == at->first || place(number) != Place::ready) continue;
    const bool before = other.ahead != item.ahead ? other.ahead
                        : other.ahead             ? age(other) < age(item)
                                                  : rank(other) < rank(item);
    const auto facts = [this](const Item& each) {
      return " (priority " + std::to_string(static_cast<int>(each.priority)) + ", since " +
             std::to_string((age(each) - now_).count()) + (each.ahead ? ", ahead)" : ")");
    };
    if (before) {
      return entry.first + facts(other) + " should come before " + got.message->id + facts(item);
    }
  }
  ++item.counters.fetch;
  item.ahead = false;
  item.lease = got.lease;
  item.leased_until = now_ + lease_for;
  const auto expect = [&](bool holds, const char* what) {
    return holds ? std::string() : got.message->id + ": wrong " + what;
  };
  for (const auto& wrong :
       {expect(got.counters == item.counters, "counters"),
        expect(got.leased_until == *item.leased_until, "leased_until"),
        expect(got.expired == is_expired(item), "expired"),
        expect(got.interrupted == item.interrupted, "interrupted"),
        expect(got.interruptions == item.interruptions, "interruptions"),
        expect(got.may_be_repeat == (item.repeat || item.counters.fetch > 1), "may_be_repeat"),
        expect(got.first_attempt_at == item.first_attempt_at, "first_attempt_at"),
        expect(got.previous_delay == item.previous_delay, "previous_delay"),
        expect(got.last_error == item.last_error, "last_error"),
        expect(got.trail == item.trail, "trail")}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string BrokerModel::nothing_more(bool limit_reached) const {
  if (limit_reached || numbers_.paused) return {};
  for (const auto& [number, entry] : items_) {
    if (place(number) == Place::ready) return entry.first + " was ready and left out";
  }
  return {};
}

BrokerModel::Numbered::iterator BrokerModel::find(const LeaseToken& lease) {
  return std::find_if(items_.begin(), items_.end(), [&](const auto& each) {
    const auto& item = each.second.second;
    return item.leased_until && item.lease == lease;
  });
}

bool BrokerModel::start(const LeaseToken& lease) {
  const auto at = find(lease);
  if (at == items_.end()) return false;
  auto& item = at->second.second;
  if (item.started) return true;
  item.started = true;
  item.counters.retry += item.counters.attempt > 0;
  ++item.counters.attempt;
  ++item.counters.total;
  item.first_start = !item.first_attempt_at;
  if (item.first_start) item.first_attempt_at = now_;
  return true;
}

bool BrokerModel::renew(const LeaseToken& lease, Millis lease_for) {
  const auto at = find(lease);
  if (at == items_.end()) return false;
  at->second.second.leased_until = now_ + lease_for;
  return true;
}

/// The claim, and the start if there was one.
void BrokerModel::give_back(Item& item) {
  if (item.counters.fetch > 0) --item.counters.fetch;
  if (!item.started) return;
  item.counters = without_start(item.counters);
  if (item.first_start) item.first_attempt_at.reset();
}

SettleAnswer BrokerModel::settle(const Settlement& settlement) {
  const auto at = find(settlement.lease);
  if (at == items_.end()) return {Settled::lease_lost, 0};
  auto& item = at->second.second;
  SettleAnswer answer;
  if (std::holds_alternative<Completed>(settlement.ending)) {
    ++numbers_.completed;
    items_.erase(at);
    promote();
    return answer;
  }
  if (const auto* dead = std::get_if<DeadLettered>(&settlement.ending)) {
    bury(at, *dead);
    return answer;
  }
  item.leased_until.reset();
  if (const auto* failed = std::get_if<Failed>(&settlement.ending)) {
    item.counters = failed->counters;
    item.previous_delay = failed->delay;
    item.last_error = failed->error;
    item.trail = failed->trail;
    item.repeat = item.interrupted = false;
    item.interruptions = 0;
    wait(item, failed->again_at);
  } else if (const auto* abandoned = std::get_if<Abandoned>(&settlement.ending)) {
    if (abandoned->increment_count) {
      ++item.counters.abandon;
      if (abandoned->counters) item.counters = *abandoned->counters;
      item.repeat = item.interrupted = false;
      item.interruptions = 0;
    } else {
      give_back(item);
    }
    answer.abandon_count = item.counters.abandon;
    item.previous_delay = std::max(Millis{0}, abandoned->again_at - now_);
    if (!abandoned->error.empty()) item.last_error = abandoned->error;
    if (!abandoned->trail.empty()) item.trail = abandoned->trail;
    wait(item, abandoned->again_at);
  } else {
    give_back(item);
    wait(item, now_);
  }
  item.started = false;
  return answer;
}

void BrokerModel::bury(Numbered::iterator at, const DeadLettered& ending) {
  auto [id, item] = std::move(at->second);
  items_.erase(at);
  ++numbers_.dead_lettered;
  const bool hold = ending.hold_key || options_.on_death == OnDeath::hold;
  if (hold && options_.keys_in_order && !item.key.empty()) on_hold_.insert(item.key);
  if (keeps_dead_) {
    if (!ending.error.empty()) item.last_error = ending.error;
    dead_.emplace_back(std::move(id), std::move(item));
  }
  promote();
}

std::vector<std::string> BrokerModel::dead() const {
  std::vector<std::string> ids;
  for (const auto& each : dead_) ids.push_back(each.first);
  return ids;
}

// Counts begin anew, and nobody stands in the order of a key any more.
std::uint64_t BrokerModel::redrive() {
  for (auto& [id, before] : dead_) {
    Item item;
    item.priority = before.priority;
    item.expires = before.expires;
    item.counters = after_replay(before.counters, ReplayCount::restart);
    item.last_error = before.last_error;
    item.since = item.due = now_;
    add(std::move(id), std::move(item));
  }
  numbers_.dead_lettered -= dead_.size();
  const auto count = dead_.size();
  dead_.clear();
  return count;
}

/// Its head is leased or dead: then the whole key stays where it is.
bool BrokerModel::is_in_hand(const std::string& key) const {
  if (!options_.keys_in_order || key.empty()) return false;
  return on_hold_.contains(key) || std::any_of(items_.begin(), items_.end(), [&](const auto& each) {
           return each.second.second.key == key && each.second.second.leased_until;
         });
}

BrokerModel::Moved BrokerModel::move_to(BrokerModel& other) {
  const auto waits = std::count_if(items_.begin(), items_.end(), [](const auto& each) {
    return !each.second.second.leased_until;
  });
  Moved moved;
  moved.refused = other.room_for(static_cast<std::size_t>(waits));
  if (moved.refused) return moved;
  std::vector<std::uint64_t> going;
  for (const auto& [number, entry] : items_) {
    if (!entry.second.leased_until && !is_in_hand(entry.second.key)) going.push_back(number);
  }
  for (const auto number : going) {
    auto node = items_.extract(number);
    auto& [id, item] = node.mapped();
    item.head = false;
    item.since = now_;
    other.add(std::move(id), std::move(item));
  }
  moved.count = going.size();
  numbers_.published -= moved.count;
  other.numbers_.published += moved.count;
  return moved;
}

std::uint64_t BrokerModel::purge() {
  const auto gone =
      std::erase_if(items_, [](const auto& each) { return !each.second.second.leased_until; });
  numbers_.purged += gone;
  promote();
  return gone;
}

SourceStats BrokerModel::stats() {
  drop_expired();
  auto stats = numbers_;
  for (const auto& [number, entry] : items_) {
    switch (place(number)) {
      case Place::ready:
        ++stats.ready;
        break;
      case Place::delayed:
        ++stats.delayed;
        break;
      case Place::leased:
        ++stats.leased;
        break;
      case Place::held:
        ++stats.held;
        break;
    }
  }
  return stats;
}

}  // namespace dlo::testing
