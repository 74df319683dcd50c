// What is done to all of a queue: a piece at a time, each a record of its own, so that nobody waits
// long for the lock; and one sync for all of them, at the end. Receivers of the queue find nothing
// in it until it is over.
#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>
#include <utility>

#include "dlo/broker/embedded/depot.h"

namespace dlo::embedded {
namespace {

constexpr std::size_t at_once = 4096;  // messages a piece: a fraction of a millisecond

/// Between two pieces. Whoever waits for the lock is asleep and wakes too late to take it from
/// one who wants it again at once.
void give_way() {
  std::this_thread::sleep_for(std::chrono::microseconds{50});
}

}  // namespace

std::vector<SlotNumber> Depot::arriving_in(std::uint16_t queue,
                                           std::optional<std::uint16_t> other) const {
  std::vector<SlotNumber> slots;
  for (const Arrival& each : arrivals_) {
    const auto its = holdings_.slots()[each.slot].queue;
    if (its == queue || its == other) slots.push_back(each.slot);
  }
  return slots;
}

/// A purge that is under way.
struct Depot::Purge {
  std::uint64_t left = 0;   // to be looked at, at most
  std::uint64_t count = 0;  // gone
  std::uint64_t last = 0;   // record
  struct Body {
    std::uint64_t sequence = 0;  // of the state that was read
    std::uint32_t segment = 0;
  };
  std::unordered_map<SlotNumber, Body> bodies;  // of those that have a state
};

Result<std::uint64_t> Depot::purge(std::uint16_t number) {
  const std::lock_guard one_at_a_time(sets_mutex_);
  Purge purge;
  {
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.purge");
    if (!found) return found.error();
    holdings_.unline(**found);
    holdings_.begin_walk(**found);
    purge.left = (*found)->messages();
  }
  Result<void> done;
  while (done && purge.left > 0) {
    done = purge_slice(number, purge);
    give_way();
  }
  if (done) done = made_durable(purge.last);
  const Lock lock(mutex_);
  holdings_.line_up(*holdings_.queue(number), holdings_.latest());
  ring(number, 2);
  if (!done) return done.error();
  return purge.count;
}

// What a state weighs on is in its record: that is read first, without the lock.
Result<void> Depot::purge_slice(std::uint16_t number, Purge& purge) {
  if (const auto room = wait_for_room(true); !room) return room;
  std::vector<std::pair<SlotNumber, Address>> unread;
  {
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.purge");
    if (!found) return found.error();
    const auto slots = holdings_.next_of_walk(std::min<std::uint64_t>(at_once, purge.left));
    for (const auto slot : slots) {
      if (!holdings_.waits(slot) || !holdings_.slots()[slot].has_state) continue;
      const auto at = holdings_.address_of(slot);
      const auto known = purge.bodies.find(slot);
      const bool same = known != purge.bodies.end() && known->second.sequence == at.sequence;
      if (!same) unread.emplace_back(slot, at);
    }
    if (unread.empty()) {
      if (slots.empty()) purge.left = 0;
      return slots.empty() ? Result<void>{} : purge_these(**found, slots, purge);
    }
  }
  std::vector<Address> addresses;
  for (const auto& [slot, at] : unread) addresses.push_back(at);
  // One that is in the journal's group has to leave it before it can be read.
  if (const auto written = journal_->written(addresses.back().sequence); !written) return written;
  const auto records = read_each(addresses);
  for (std::size_t i = 0; i < unread.size(); ++i) {
    const auto state = records[i] ? decode_state(*records[i]) : std::nullopt;
    purge.bodies[unread[i].first] = {unread[i].second.sequence,
                                     state ? state->body.location.segment : 0};
  }
  return {};
}

Result<void> Depot::purge_these(QueueState& queue, const std::vector<SlotNumber>& slots,
                                Purge& purge) {
  const auto now = holdings_.latest();
  std::string range;
  ByteWriter out(range);
  out.u16(queue.record.number);
  out.moment(now);
  out.u32(slots.front());
  out.u32(slots.back());
  encode_slots(arriving_in(queue.record.number), range);
  std::vector<Removal> stateful;
  for (const auto slot : slots) {
    if (!holdings_.waits(slot) || !holdings_.slots()[slot].has_state) continue;
    stateful.push_back({slot, Why::purged, purge.bodies[slot].segment});
  }
  RecordList records;
  records.add(RecordType::purged, std::move(range));
  if (!stateful.empty()) {
    std::string bytes;
    embedded::encode(stateful, now, bytes);
    records.add(RecordType::removed, std::move(bytes));
  }
  const auto placed = append(records);
  if (!placed) return placed.error();
  holdings_.walked_past(slots.back());
  purge.count += holdings_.purge_fresh(slots, now) + stateful.size();
  for (const Removal& each : stateful) holdings_.remove(each, now);
  tidy_if_due();
  purge.left -= slots.size();
  purge.bodies.clear();
  purge.last = placed->last;
  return {};
}

Result<void> Depot::made_durable(std::uint64_t record) {
  const auto durable = journal_->durable(record);
  return durable ? Result<void>{} : durable.error();
}

/// Makes sure that there is room for all that may come, and keeps it.
Result<Load> Depot::begin_move(std::uint16_t from, std::uint16_t to) {
  const Lock lock(mutex_);
  auto source = usable(from, "embedded.move");
  if (!source) return source.error();
  auto target = usable(to, "embedded.move");
  if (!target) return target.error();
  if (from == to) return refuse("embedded.move", "a queue cannot be moved into itself");
  QueueState& queue = **source;
  const Load moving{queue.in(Place::ready) + queue.in(Place::delayed) + queue.in(Place::held),
                    queue.bytes() - holdings_.leased_bytes(queue)};
  const Load here{(*target)->messages(), (*target)->bytes()};
  const auto room = dlo::check_room((*target)->options(), here, moving, "embedded.move");
  if (!room) return room.error();
  (*target)->promised = moving;
  return moving;
}

Result<std::uint64_t> Depot::move_all(std::uint16_t from, std::uint16_t to) {
  const std::lock_guard one_at_a_time(sets_mutex_);
  const auto moving = begin_move(from, to);
  if (!moving) return moving.error();
  return move_rest(from, to, moving->messages);
}

/// `most`: who came later is not asked for, though one or another may come along.
Result<std::uint64_t> Depot::move_rest(std::uint16_t from, std::uint16_t to, std::uint64_t most) {
  {
    const Lock lock(mutex_);
    QueueState& queue = *holdings_.queue(from);
    holdings_.unline(queue);
    holdings_.begin_walk(queue);
    most += queue.in(Place::leased);  // they are passed on the way
  }
  std::uint64_t count = 0;
  std::uint64_t last = 0;
  Result<void> done;
  while (done && most > 0) {
    const auto moved = move_slice(from, to, most, last);
    if (!moved) done = moved.error();
    if (moved) count += *moved;
    give_way();
  }
  if (done) done = made_durable(last);
  const Lock lock(mutex_);
  holdings_.queue(to)->promised = {};
  holdings_.line_up(*holdings_.queue(from), holdings_.latest());
  ring(from, 2);
  if (!done) return done.error();
  return count;
}

Result<std::uint64_t> Depot::move_slice(std::uint16_t from, std::uint16_t to, std::uint64_t& left,
                                        std::uint64_t& last) {
  if (const auto room = wait_for_room(true); !room) return room.error();
  const Lock lock(mutex_);
  for (const auto each : {from, to}) {
    if (const auto ok = usable(each, "embedded.move"); !ok) return ok.error();
  }
  QueueState& target = *holdings_.queue(to);
  const auto now = holdings_.latest();
  const auto slots = holdings_.next_of_walk(std::min<std::uint64_t>(at_once, left));
  left = slots.size() < at_once ? 0 : left - slots.size();
  const bool more = left > 0;
  if (slots.empty() && !holdings_.queue(from)->moving_to) return std::uint64_t{0};
  std::string bytes;
  ByteWriter out(bytes);
  out.u16(from);
  out.u16(to);
  out.moment(now);
  out.u32(slots.empty() ? no_slot : slots.front());
  out.u32(slots.empty() ? no_slot : slots.back());
  out.u8(more);
  encode_slots(arriving_in(from, to), bytes);
  RecordList records;
  records.add(RecordType::moved, std::move(bytes));
  const auto placed = append(records);
  if (!placed) return placed.error();
  last = placed->last;
  const auto bytes_before = target.bytes();
  if (!slots.empty()) holdings_.walked_past(slots.back());
  const auto count = holdings_.move(slots, target, now);
  holdings_.queue(from)->moving_to = more ? std::optional(to) : std::nullopt;
  target.promised.messages -= std::min(target.promised.messages, count);
  target.promised.bytes -= std::min(target.promised.bytes, target.bytes() - bytes_before);
  ring(to, 2);
  return count;
}

/// A move that the last life had begun is carried to its end.
Result<void> Depot::finish_moves() {
  for (std::size_t i = 0; i < holdings_.queue_count(); ++i) {
    const auto from = static_cast<std::uint16_t>(i);
    QueueState* queue = holdings_.queue(from);
    if (queue == nullptr || !queue->moving_to) continue;
    const auto moved = move_rest(from, *queue->moving_to, queue->messages());
    if (!moved) return moved.error();
  }
  return {};
}

Result<std::uint64_t> Depot::redrive(std::uint16_t number) {
  const std::lock_guard one_at_a_time(sets_mutex_);
  std::uint64_t left = dead(number);
  std::uint64_t count = 0;
  std::uint64_t last_record = 0;
  do {
    if (count > 0) give_way();
    if (const auto room = wait_for_room(true); !room) return room.error();
    const Lock lock(mutex_);
    auto found = usable(number, "embedded.redrive");
    if (!found) return found.error();
    auto last = (*found)->dead.oldest;
    if (last == no_slot) break;
    std::uint64_t going = 1;
    for (; going < std::min<std::uint64_t>(at_once, left); ++going) {
      const auto next = holdings_.slots()[last].newer;
      if (next == no_slot) break;
      last = next;
    }
    const auto now = holdings_.latest();
    std::string bytes;
    ByteWriter out(bytes);
    out.u16(number);
    out.moment(now);
    out.u32(last);
    encode_slots(arriving_in(number), bytes);
    RecordList records;
    records.add(RecordType::redriven, std::move(bytes));
    const auto placed = append(records);
    if (!placed) return placed.error();
    last_record = placed->last;
    count += holdings_.redrive(**found, last, now);
    ring(number, 2);
    left -= std::min(left, going);
  } while (left > 0);
  if (const auto done = made_durable(last_record); !done) return done.error();
  return count;
}

}  // namespace dlo::embedded
