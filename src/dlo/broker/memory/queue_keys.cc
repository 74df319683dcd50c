// Messages of one key: one after another, and none past a death that holds it.
#include "dlo/broker/memory/queue.h"

namespace dlo::memory {

KeyLine& Queue::line_of(const std::string& key) {
  const auto [entry, added] = keys_.try_emplace(key);
  if (added) entry->second.name = &entry->first;
  return entry->second;
}

// The head left: the next of the key takes its place, or the key is forgotten.
void Queue::promote(KeyLine& line, TimePoint now) {
  if (line.on_hold) return;
  if (line.followers.empty()) {
    keys_.erase(*line.name);
    return;
  }
  line.head = line.followers.pop(slab_);
  Slot& slot = slab_[line.head];
  slot.since = now;  // not since it was published: so keys take turns
  wait_or_ready(line.head, now);
}

void Queue::free_key(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end() || !found->second.on_hold) return;
  found->second.on_hold = false;
  promote(found->second, latest_);
}

KeyHold Queue::hold_on(const std::string& key) const {
  KeyHold hold;
  const auto found = keys_.find(key);
  if (found == keys_.end() || !found->second.on_hold) return hold;
  hold.held = true;
  for (auto at = found->second.followers.first; at != no_slot; at = slab_[at].next) {
    if (hold.waiting == KeyHold::most_counted) break;
    ++hold.waiting;
  }
  return hold;
}

std::vector<std::string> Queue::held_keys(std::size_t skip, std::size_t limit) const {
  std::vector<std::string> held;
  for (const auto& [key, line] : keys_) {
    if (!line.on_hold || line.followers.empty()) continue;
    if (skip > 0) {
      --skip;
      continue;
    }
    if (held.size() == limit) break;
    held.push_back(key);
  }
  return held;
}

}  // namespace dlo::memory
