// How a record comes to stand for one delivery, where only the content of a message tells (R3).
#include "dlo/core/identity.h"
#include "dlo/engine/recorder.h"

namespace dlo {

/// Null: there is more than its content to know it by, or no record of it.
ContentClaims* Recorder::claims_of(const Entry& entry) const {
  if (!entry.plan.record || has_stable_identity(*entry.item->delivery.message)) return nullptr;
  return writer_.claims();
}

bool Recorder::is_to_be_told(const Entry& entry) const {
  const Plan& plan = entry.plan;
  return listener_ != nullptr &&
         (plan.kind == Plan::Kind::dead || (plan.kind == Plan::Kind::repeat && plan.record->died));
}

/// A record that could be found by its content is found by one delivery. If it is acknowledged as
/// soon as it is written, it never is found: that costs no second list.
void Recorder::stand_for(Entry& entry) {
  ContentClaims* const claims = claims_of(entry);
  if (claims == nullptr || entry.plan.kind == Plan::Kind::repeat) return;
  if (is_to_be_told(entry)) {
    claims->claim(entry.plan.record->id);
  } else {
    entry.plan.record->source_unsettled = false;
  }
}

bool Recorder::is_to_be_used(const Entry& entry) const {
  return claims_of(entry) != nullptr && entry.plan.record->source_unsettled && !entry.used &&
         !entry.put_off;
}

/// Durable before the acknowledgement: if the process dies in between, nobody can know whether the
/// other side has read it, and an identical message must not vanish behind this record.
bool Recorder::use_up() {
  std::vector<Change> changes;
  std::vector<Entry*> used;
  for (Entry& entry : entries_) {
    if (!entry.durable || !entry.told || !is_to_be_used(entry)) continue;
    changes.emplace_back(SourceSettled{entry.plan.record->id, entry.occurrence});
    used.push_back(&entry);
  }
  if (used.empty()) return true;
  if (const auto applied = office_.apply(changes); !applied) {
    board_.down(StatusBoard::store, applied.error());
    return false;
  }
  board_.up(StatusBoard::store);
  for (Entry* entry : used) {
    entry->used = true;
    claims_of(*entry)->used(entry->plan.record->id);
  }
  return true;
}

}  // namespace dlo
