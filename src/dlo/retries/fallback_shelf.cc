#include "dlo/retries/fallback_shelf.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "dlo/core/retention.h"
#include "dlo/core/spelling.h"

namespace dlo {
namespace {

constexpr std::size_t written_at_once = 100;
constexpr const char* totals_kind = "intake";
constexpr const char* totals_key = "fallback";
constexpr int most_tries = 5;

/// Roughly what it takes: its payload and texts, and a little for the rest.
std::uint64_t size_of(const Shelved& one) {
  const Message& message = *one.record->message;
  std::uint64_t size = 2'048 + one.record->metadata.size() + one.record->failure.text.size();
  if (message.payload) size += message.payload->size();
  for (const Header& header : message.headers) size += header.name.size() + header.value.size();
  return size;
}

std::string print(const FallbackTotals& totals) {
  return std::to_string(totals.in_memory) + " " + std::to_string(totals.persisted_later) + " " +
         std::to_string(totals.rejected);
}

FallbackTotals parse_totals(const std::string& text) {
  FallbackTotals totals;
  std::istringstream(text) >> totals.in_memory >> totals.persisted_later >> totals.rejected;
  return totals;
}

FallbackTotals sum(const FallbackTotals& a, const FallbackTotals& b) {
  return {a.in_memory + b.in_memory, a.persisted_later + b.persisted_later,
          a.rejected + b.rejected};
}

}  // namespace

FallbackShelf::Kept FallbackShelf::add(Shelved one, const Capacity& capacity, std::uint64_t open) {
  const Kept kept = put(std::move(one), capacity, open);
  if (kept == Kept::added && told_.work) told_.work();
  return kept;
}

FallbackShelf::Kept FallbackShelf::put(Shelved one, const Capacity& capacity, std::uint64_t open) {
  const std::uint64_t size = size_of(one);
  const std::lock_guard lock(mutex_);
  const std::pair id{one.record->id, one.record->occurrence};
  if (ids_.contains(id)) return Kept::merged;
  if (!fits_in_memory(capacity, open, {entries_.size(), bytes_}, size)) return Kept::no_room;
  entries_.push_back(std::make_shared<const Shelved>(std::move(one)));
  ids_.insert(id);
  bytes_ += size;
  ++unwritten_.in_memory;
  return Kept::added;
}

void FallbackShelf::note_rejected() {
  const std::lock_guard lock(mutex_);
  ++unwritten_.rejected;
}

std::optional<Error> FallbackShelf::settle() {
  const std::unique_lock settling(settling_, std::try_to_lock);
  if (!settling) {
    return Error{Code::unavailable, "tasks.fallback",
                 "Reports that came before are being written."};
  }
  while (has_work()) {
    const std::vector<Entry> some = first(written_at_once);
    auto done = write(some);
    if (!done && done.error().code == Code::invalid_argument && some.size() > 1) {
      done = write({some.front()});  // one of them is wrong, and keeps no other
    }
    if (!done && done.error().code == Code::invalid_argument && !some.empty()) {
      say(some.front(), "was kept in memory and is refused by the office: " + done.error().detail);
      take_off(1, {}, false);
    } else if (!done) {
      const std::lock_guard lock(mutex_);
      met_ = done.error();
      return entries_.empty() ? std::nullopt : met_;
    }
  }
  return std::nullopt;
}

Result<void> FallbackShelf::write(const std::vector<Entry>& entries) {
  FallbackTotals noted = unwritten();
  noted.persisted_later += entries.size();
  std::vector<Change> changes;
  for (const Entry& each : entries) {
    changes.insert(changes.end(), each->changes.begin(), each->changes.end());
  }
  changes.emplace_back();
  for (int tries = 1;; ++tries) {
    const auto before = written();
    if (!before) return before.error();
    // Others count there too.
    changes.back() =
        PutDocument{totals_kind, totals_key, print(sum(before->totals, noted)), before->version};
    const auto applied = office_.apply(changes);
    if (applied) break;
    if (applied.error().code != Code::conflict || tries == most_tries) return applied.error();
  }
  take_off(entries.size(), noted, true);
  return {};
}

void FallbackShelf::take_off(std::size_t count, const FallbackTotals& noted, bool kept) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    const Shelved& first = *entries_.front();
    bytes_ -= size_of(first);
    ids_.erase({first.record->id, first.record->occurrence});
    entries_.pop_front();
  }
  unwritten_.in_memory -= noted.in_memory;
  unwritten_.rejected -= noted.rejected;
  if (kept) persisted_later_ += count;
  if (kept) met_.reset();
}

void FallbackShelf::close() {
  (void)settle();
  const std::lock_guard settling(settling_);
  const std::lock_guard lock(mutex_);
  for (const Entry& each : entries_) {
    say(each,
        "was kept in memory only, and goes with this process, because the office could not be "
        "written (" +
            (met_ ? met_->detail : std::string("it is busy")) +
            "). Its error was: " + each->record->failure.text);
  }
  entries_.clear();
  ids_.clear();
  bytes_ = 0;
}

void FallbackShelf::say(const Entry& entry, const std::string& what) const {
  if (!told_.log) return;
  const Message& message = *entry->record->message;
  told_.log("Task " + in_quotes(message.id.empty() ? to_string(entry->record->id) : message.id) +
            " of " + in_quotes(message.source) + " " + what);
}

std::uint64_t FallbackShelf::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

bool FallbackShelf::has_work() const {
  const std::lock_guard lock(mutex_);
  return !entries_.empty() || unwritten_ != FallbackTotals{};
}

std::shared_ptr<const Shelved> FallbackShelf::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& each : entries_) {
    if (each->record->message->id == name || to_string(each->record->id) == name) return each;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const Shelved>> FallbackShelf::first(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(std::min(most, entries_.size()));
  return {entries_.begin(), end};
}

std::uint64_t FallbackShelf::persisted_later() const {
  const std::lock_guard lock(mutex_);
  return persisted_later_;
}

FallbackTotals FallbackShelf::unwritten() const {
  const std::lock_guard lock(mutex_);
  return unwritten_;
}

Result<FallbackShelf::Written> FallbackShelf::written() const {
  Ledger* const ledger = office_.extras().ledger;
  if (ledger == nullptr) return Written{};
  const auto found = ledger->document(totals_kind, totals_key);
  if (!found) return found.error();
  return *found ? Written{parse_totals((*found)->body), (*found)->version} : Written{};
}

Result<FallbackTotals> FallbackShelf::totals() const {
  const auto before = written();
  if (!before) return before.error();
  return sum(before->totals, unwritten());
}

}  // namespace dlo
