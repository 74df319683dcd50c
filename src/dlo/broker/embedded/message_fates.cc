#include "dlo/broker/embedded/message_fates.h"

#include <algorithm>

#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/broker/embedded/replay.h"

namespace dlo::embedded {
namespace {

Fate fate_of(Why why) noexcept {
  switch (why) {
    case Why::completed:
      return Fate::completed;
    case Why::dead_lettered:
    case Why::dead_and_held:
      return Fate::dead_lettered;
    case Why::expired:
      return Fate::expired;
    case Why::purged:
      return Fate::purged;
  }
  return Fate::gone;
}

Fate fate_of(Place place) noexcept {
  switch (place) {
    case Place::free:
      return Fate::gone;
    case Place::arriving:
    case Place::ready:
      return Fate::ready;
    case Place::delayed:
      return Fate::delayed;
    case Place::leased:
      return Fate::leased;
    case Place::held:
      return Fate::held;
    case Place::dead:
      return Fate::dead;
  }
  return Fate::unknown;
}

}  // namespace

const char* name_of(Fate fate) noexcept {
  switch (fate) {
    case Fate::unknown:
      return "unknown";
    case Fate::ready:
      return "ready";
    case Fate::delayed:
      return "delayed";
    case Fate::held:
      return "held";
    case Fate::leased:
      return "leased";
    case Fate::dead:
      return "dead";
    case Fate::completed:
      return "completed";
    case Fate::dead_lettered:
      return "dead_lettered";
    case Fate::expired:
      return "expired";
    case Fate::purged:
      return "purged";
    case Fate::relocated:
      return "relocated";
    case Fate::gone:
      return "gone";
  }
  return "unknown";
}

Result<MessageFates> MessageFates::read(FileSystem& files) {
  MessageFates fates;
  const auto checkpoint = load_checkpoint(files, fates.holdings_);
  const auto why = checkpoint ? Code::corrupt : checkpoint.error().code;
  if (why != Code::corrupt && why != Code::refused) return checkpoint.error();
  fates.known_ = checkpoint.has_value();
  const bool begun = checkpoint && checkpoint->has_value();
  const std::uint64_t from = begun ? (*checkpoint)->position.sequence : 0;
  Replay replay(fates.holdings_);
  Inspection journal(files);
  if (begun) journal.goes_on_from = (*checkpoint)->position;
  const auto walked = journal.walk([&](const dlo::Entry& entry) -> Result<void> {
    fates.note(entry);
    if (fates.known_ && entry.sequence >= from) fates.known_ = replay.apply(entry).has_value();
    return {};
  });
  if (!walked) return walked.error();
  // A record that is missing may have ended anybody.
  fates.known_ = fates.known_ && journal.damages.empty();
  fates.conclude();
  if (!journal.damages.empty() || !journal.quarantined.empty()) fates.find_hidden(journal);
  return fates;
}

void MessageFates::put(SlotNumber slot, std::uint64_t sequence, Fate former) {
  if (!known_) left_.insert(slot);
  const auto [found, fresh] = current_.try_emplace(slot, entries_.size());
  if (!fresh) {
    entries_[found->second].fate = former;
    found->second = entries_.size();
  }
  entries_.push_back({sequence, slot, Fate::unknown});
}

void MessageFates::end(SlotNumber slot, Fate fate) {
  if (!known_) left_.insert(slot);
  const auto found = current_.find(slot);
  if (found == current_.end()) return;
  entries_[found->second].fate = fate;
  current_.erase(found);
}

void MessageFates::note(const dlo::Entry& record) {
  const auto type = static_cast<RecordType>(record.type);
  if (type == RecordType::published || type == RecordType::relocated) {
    const auto stored = decode_published(record.body);
    if (!stored || stored->tail.slot == no_slot) return;
    put(stored->tail.slot, record.sequence,
        type == RecordType::relocated ? Fate::relocated : Fate::gone);
  } else if (type == RecordType::completed) {
    ByteReader in(record.body);
    in.moment();
    for (const SlotNumber slot : decode_slots(in)) end(slot, Fate::completed);
  } else if (type == RecordType::removed) {
    for (const Removal& each : decode_removals(record.body).value_or(Removals{}).all) {
      end(each.slot, fate_of(each.why));
    }
  }
}

void MessageFates::conclude() {
  for (const auto& [slot, place] : current_) {
    if (!known_) continue;
    entries_[place].fate = slot < holdings_.slots().size() ? fate_in(slot) : Fate::gone;
  }
}

Fate MessageFates::fate_in(SlotNumber slot) const noexcept {
  const Fate fate = fate_of(holdings_.slots()[slot].place);
  // While a journal is read back nobody is told apart from those whose delay is over.
  return fate == Fate::ready && holdings_.is_early(slot) ? Fate::delayed : fate;
}

/// By their address, as receiving does.
void MessageFates::find_hidden(Inspection& journal) {
  std::vector<Entry> found;
  const auto met = [&](std::uint64_t sequence) {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), sequence, before);
    return at != entries_.end() && at->sequence == sequence;
  };
  for (SlotNumber slot = 0; slot < holdings_.slots().size(); ++slot) {
    const Slot& held = holdings_.slots()[slot];
    if (held.place == Place::free || left_.contains(slot)) continue;
    std::optional<Address> body = holdings_.address_of(slot);
    if (held.has_state) {
      journal.read({&*body, 1}, [&](std::size_t, const Result<std::string_view>& record) {
        const auto state = record ? decode_state(*record) : std::nullopt;
        body = state ? std::optional(state->body) : std::nullopt;
      });
    }
    if (!body || met(body->sequence)) continue;
    hidden_.push_back(*body);
    found.push_back({body->sequence, slot, known_ ? fate_in(slot) : Fate::unknown});
  }
  entries_.insert(entries_.end(), found.begin(), found.end());
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.sequence < b.sequence; });
}

MessageFates::Found MessageFates::of(std::uint64_t sequence) {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), sequence, before);
  if (found == entries_.end() || found->sequence != sequence) return {};
  Found answer{found->fate, {}};
  if (answer.fate != Fate::unknown && is_there(answer.fate)) {
    const QueueState* queue = holdings_.queue(holdings_.slots()[found->slot].queue);
    if (queue != nullptr) answer.queue = queue->options().source;
  }
  return answer;
}

}  // namespace dlo::embedded
