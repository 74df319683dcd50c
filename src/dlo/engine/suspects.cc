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
  if (!has_stable_identity(*delivery.message)) return trust_in_nameless(delivery.interruptions);
  if (ledger == nullptr) return trust_in(true, false);
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

void Suspects::remove(std::vector<Note> notes) {
  if (notes.empty()) return;
  std::vector<Change> changes;
  for (const Note& note : notes) {
    changes.emplace_back(PutDocument{kind, note.key, std::nullopt, std::nullopt});
  }
  if (office_.apply(changes)) return;
  // Tried again with the next tick. If the process dies before that, an innocent message is kept
  // for people to look at.
  const std::lock_guard lock(mutex_);
  for (Note& note : notes) notes_.push_back({nullptr, std::move(note.key), TimePoint::min()});
}

void Suspects::end(Item& item) {
  if (!item.marked_exclusive) return;
  item.marked_exclusive = false;
  std::vector<Note> ended;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(notes_, [&](Note& note) {
      if (note.item != &item) return false;
      ended.push_back(std::move(note));
      return true;
    });
  }
  remove(std::move(ended));
}

void Suspects::tick(TimePoint now) {
  std::vector<Note> over;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(notes_, [&](Note& note) {
      if (note.until > now) return false;
      over.push_back(std::move(note));
      return true;
    });
  }
  remove(std::move(over));
}

void Suspects::forget_all() {
  std::vector<Note> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(notes_);
  }
  remove(std::move(all));
}

}  // namespace dlo
