#include "dlo/engine/suspects.h"

#include <algorithm>

#include "dlo/core/identity.h"

namespace dlo {
namespace {

std::string key_of(const Delivery& delivery) {
  return to_string(identify(*delivery.message));
}

}  // namespace

Result<Trust> Suspects::trust(const Delivery& delivery) {
  if (!delivery.interrupted) return Trust::full;
  Ledger* ledger = office_.extras().ledger;
  if (ledger == nullptr || !has_stable_identity(*delivery.message)) return trust_in(true, false);
  auto note = ledger->document(kind, key_of(delivery));
  if (!note) return note.error();
  // Our own note means that only the lease was lost: this process never died.
  return trust_in(true, note->has_value() && (*note)->body != boot_);
}

Result<void> Suspects::mark(Item& item, TimePoint until) {
  if (office_.extras().ledger == nullptr || !has_stable_identity(*item.delivery.message)) return {};
  std::string key = key_of(item.delivery);
  const std::vector<Change> changes{PutDocument{kind, key, boot_, std::nullopt}};
  if (auto applied = office_.apply(changes); !applied) return applied.error();
  item.marked_exclusive = true;
  const std::lock_guard lock(mutex_);
  notes_.push_back({&item, std::move(key), until});
  return {};
}

void Suspects::end(Item& item, std::vector<Change>& out) {
  if (!item.marked_exclusive) return;
  const std::lock_guard lock(mutex_);
  const auto note = std::find_if(notes_.begin(), notes_.end(),
                                 [&item](const Note& one) { return one.item == &item; });
  if (note == notes_.end()) return;
  out.emplace_back(PutDocument{kind, note->key, std::nullopt, std::nullopt});
  notes_.erase(note);
}

void Suspects::remove(const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  std::vector<Change> changes;
  for (const std::string& key : keys) {
    changes.emplace_back(PutDocument{kind, key, std::nullopt, std::nullopt});
  }
  // If this fails the note stays: at worst an innocent message is kept for people to look at.
  static_cast<void>(office_.apply(changes));
}

void Suspects::tick(TimePoint now) {
  std::vector<std::string> over;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(notes_, [&](Note& note) {
      if (note.until > now) return false;
      over.push_back(std::move(note.key));
      return true;
    });
  }
  remove(over);
}

void Suspects::forget_all() {
  std::vector<std::string> keys;
  {
    const std::lock_guard lock(mutex_);
    for (Note& note : notes_) keys.push_back(std::move(note.key));
    notes_.clear();
  }
  remove(keys);
}

}  // namespace dlo
