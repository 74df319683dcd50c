// What is done to all of a queue at once.
#include <algorithm>

#include "dlo/broker/embedded/holdings.h"

namespace dlo::embedded {

/// Takes everybody for whom `stays` does not hold out of the lines; the others keep their order.
template <typename F>
void Holdings::keep_in_lines(QueueState& queue, F&& stays) {
  std::vector<SlotNumber> ready;
  for (auto number = queue.lineup.pop(slots_); number != no_slot;
       number = queue.lineup.pop(slots_)) {
    if (stays(number)) ready.push_back(number);
  }
  queue.lineup.clear();
  for (const auto number : ready) {
    if (slots_[number].ahead) {
      queue.lineup.push_interrupted(slots_, number);
    } else {
      queue.lineup.push(slots_, number);
    }
  }
  const auto here = queue.record.number;
  delays_.remove_if(
      slots_, [&](SlotNumber number) { return slots_[number].queue == here && !stays(number); });
}

template <typename F>
void Holdings::keep_followers(KeyEntry& line, F&& stays) {
  Line left;
  while (!line.followers.empty()) {
    const auto number = line.followers.pop(slots_);
    if (stays(number)) left.push(slots_, number);
  }
  line.followers = left;
}

std::uint64_t Holdings::purge_fresh(QueueState& queue, const SlotSet& arriving,
                                    std::vector<SlotNumber>& rest, TimePoint now) {
  const auto stays = [&](SlotNumber number) {
    return slots_[number].has_state || arriving.contains(number);
  };
  if (working_) keep_in_lines(queue, stays);
  std::uint64_t count = 0;
  std::vector<KeyEntry*> headless;
  queue.keys.for_each([&](KeyEntry& line) {
    // Followers may have a state too, if they came from another queue.
    keep_followers(line, stays);
    const auto head = line.head();
    if (head != no_slot && !stays(head) && slots_[head].place != Place::leased) {
      queue.keys.set_head(line, no_slot);
    }
    if (line.head() == no_slot) headless.push_back(&line);
  });
  for (auto at = queue.all.oldest; at != no_slot;) {
    const auto number = at;
    const Place place = slots_[number].place;
    at = slots_[number].newer;
    if (place == Place::leased) continue;
    if (arriving.contains(number)) continue;
    if (stays(number)) {
      rest.push_back(number);
      continue;
    }
    drop(number, 0);
    ++count;
  }
  for (KeyEntry* line : headless) promote(queue, *line, now);
  queue.totals.purged += count;
  return count;
}

void Holdings::remove_waiting(QueueState& queue, const std::vector<Removal>& removals,
                              TimePoint now) {
  std::vector<SlotNumber> leaving;
  leaving.reserve(removals.size());
  for (const Removal& each : removals) leaving.push_back(each.slot);
  std::sort(leaving.begin(), leaving.end());
  const auto stays = [&](SlotNumber number) {
    return !std::binary_search(leaving.begin(), leaving.end(), number);
  };
  if (working_) keep_in_lines(queue, stays);
  queue.keys.for_each([&](KeyEntry& line) { keep_followers(line, stays); });
  for (const Removal& each : removals) remove(each, now);
}

/// A key whose head moves away: who arrives later than that begins it anew.
void Holdings::leave_behind(QueueState& queue, KeyEntry& line, const SlotSet& arriving,
                            TimePoint now) {
  keep_followers(line, [&](SlotNumber number) { return arriving.contains(number); });
  queue.keys.set_head(line, no_slot);
  promote(queue, line, now);
}

bool Holdings::may_move(SlotNumber number, const SlotSet& arriving) const {
  const Slot& slot = slots_[number];
  const bool waits = slot.place == Place::ready || slot.place == Place::delayed;
  if (!waits || arriving.contains(number)) return false;
  const KeyEntry* line = slot.keyed ? queues_[slot.queue]->keys.headed_by(number) : nullptr;
  return line == nullptr || !line->on_hold;
}

Holdings::Moving Holdings::who_moves(QueueState& from, const SlotSet& arriving) const {
  std::unordered_map<SlotNumber, std::string_view> key_of;
  from.keys.for_each([&](const KeyEntry& line) {
    if (line.head() == no_slot || !may_move(line.head(), arriving)) return;
    key_of[line.head()] = line.name();
    for (auto at = line.followers.first; at != no_slot; at = slots_.next(at)) {
      if (!arriving.contains(at)) key_of[at] = line.name();
    }
  });
  Moving moving;
  for (auto at = from.all.oldest; at != no_slot; at = slots_[at].newer) {
    const auto key = slots_[at].keyed ? key_of.find(at) : key_of.end();
    const bool goes = slots_[at].keyed ? key != key_of.end() : may_move(at, arriving);
    if (!goes) continue;
    moving.messages.emplace_back(at, slots_[at].keyed ? key->second : std::string_view());
    moving.bytes += slots_[at].size;
  }
  return moving;
}

void Holdings::move_all(QueueState& from, QueueState& to, const Moving& moving,
                        const SlotSet& arriving, TimePoint now) {
  if (working_) {
    keep_in_lines(from, [&](SlotNumber number) { return !may_move(number, arriving); });
  }
  for (const auto& [number, key] : moving.messages) {
    KeyEntry* line = key.empty() ? nullptr : from.keys.headed_by(number);
    if (line != nullptr) leave_behind(from, *line, arriving, now);
  }
  for (const auto& [number, key] : moving.messages) {
    const auto size = slots_[number].size;
    unlink(number);
    --from.in(slots_[number].place);
    from.totals.bytes -= size;
    --from.totals.published;
    Slot& slot = slots_.edit(number);
    slot.queue = to.record.number;
    slot.place = Place::arriving;
    slot.set_time(std::max(slot.time(), pack(now)));
    ++to.in(Place::arriving);
    to.totals.bytes += size;
    slot.keyed = slot.keyed && to.options().keys_in_order;
    arrive(number, key, now);
  }
}

std::uint64_t Holdings::redrive(QueueState& queue, TimePoint now) {
  std::uint64_t count = 0;
  for (auto at = queue.dead.oldest; at != no_slot;) {
    const auto number = at;
    at = slots_[at].newer;
    unlink(number);
    slots_.edit(number).set_time(pack(now));
    slots_.edit(number).redriven = true;
    wait_or_ready(number, now);
    link(number);
    ++count;
  }
  queue.totals.dead_lettered -= count;
  return count;
}

void Holdings::detach(SlotNumber number, const std::string& key) {
  QueueState& queue = queue_of(number);
  if (slots_[number].place == Place::dead) {
    unlink(number);
    move_to(number, Place::ready);
    link(number);
    --queue.totals.dead_lettered;
    return;
  }
  if (slots_[number].place != Place::held) return;
  bool was_there = false;
  const auto leave = [&](KeyEntry& line) {
    if (was_there) return;
    keep_followers(line, [&](SlotNumber each) {
      was_there = was_there || each == number;
      return each != number;
    });
  };
  if (KeyEntry* line = queue.keys.find(key)) leave(*line);
  if (!was_there) queue.keys.for_each(leave);  // its key cannot be read
  slots_.edit(number).keyed = false;
  move_to(number, Place::ready);
}

/// Everybody who was read back takes the place that is his at `now`.
void Holdings::line_up_all(QueueState& queue, TimePoint now) {
  const auto moment = pack(now);
  std::vector<SlotNumber> strayed;  // not in the order of publication: retried, delayed, returned
  std::vector<SlotNumber> ahead;
  std::vector<SlotNumber> in_order;
  std::uint64_t last = 0;
  for (auto at = queue.all.oldest; at != no_slot; at = slots_[at].newer) {
    if (slots_[at].place != Place::ready) continue;
    const auto time = slots_[at].time();
    if (time > moment) {
      move_to(at, Place::delayed);
      delays_.set(slots_, at);
    } else if (slots_[at].ahead) {
      ahead.push_back(at);
    } else if (time < last) {
      strayed.push_back(at);
    } else {
      last = time;
      in_order.push_back(at);
    }
  }
  const auto older = [this](SlotNumber a, SlotNumber b) {
    return slots_[a].time() < slots_[b].time();
  };
  std::stable_sort(strayed.begin(), strayed.end(), older);
  std::stable_sort(ahead.begin(), ahead.end(), older);
  for (const auto number : ahead) queue.lineup.push_interrupted(slots_, number);
  auto stray = strayed.begin();
  for (const auto number : in_order) {
    for (; stray != strayed.end() && older(*stray, number); ++stray) {
      queue.lineup.push(slots_, *stray);
    }
    queue.lineup.push(slots_, number);
  }
  for (; stray != strayed.end(); ++stray) queue.lineup.push(slots_, *stray);
}

void Holdings::begin_work(TimePoint now) {
  slots_.rebuild_free_list();
  std::vector<Lease*> nobody;
  advance(now, nobody);
  working_ = true;
  for (auto& queue : queues_) {
    if (queue) line_up_all(*queue, now);
  }
}

}  // namespace dlo::embedded
