#include "dlo/engine/key_holds.h"

#include <algorithm>

#include "dlo/core/states.h"

namespace dlo {
namespace {

constexpr std::size_t read_at_once = 500;
constexpr int most_pages = 20;
constexpr std::size_t most_owed = 10'000;   // the feed waits
constexpr std::size_t keys_at_once = 100;   // of one source, of those behind which somebody waits
constexpr std::size_t asked_at_once = 200;  // whoever looks has other things to do as well
constexpr Millis between_full_looks{5'000};

const HoldingSource* find(std::span<const HoldingSource> sources, const std::string& name) {
  const auto found = std::ranges::find(sources, name, &HoldingSource::name);
  return found == sources.end() ? nullptr : &*found;
}

/// Of a key that is held: everything that may still come before those who wait.
Query unended(const std::string& source, const std::string& key) {
  Query query;
  for (const Status status : all_statuses()) {
    if (!is_closed(status)) query.statuses.push_back(status);
  }
  query.source = source;
  query.key = key;
  query.limit = 1;
  return query;
}

}  // namespace

Result<std::set<std::string>> KeyHolds::look(std::span<const HoldingSource> sources,
                                             TimePoint now) {
  std::set<std::string> freed;
  if (sources.empty()) {
    seen_.reset();
    return freed;
  }
  const auto changed = read_feed(sources);
  if (!changed) return changed.error();
  changed_ = changed_ || *changed;
  // Not before the last ones were seen to: so nobody is passed over for ever.
  if (owed_.empty() && (changed_ || !look_at_all_ || now >= *look_at_all_)) {
    for (const HoldingSource& source : sources) {
      if (auto noted = note_waiting(source); !noted) return noted.error();
    }
    changed_ = false;
    look_at_all_ = now + between_full_looks;
  }
  for (std::size_t asked = 0; !owed_.empty() && asked < asked_at_once;) {
    const auto& [name, key] = *owed_.begin();
    if (const HoldingSource* source = find(sources, name)) {
      const auto done = let_go(*source, key);
      if (!done) return done.error();
      asked += *done != Done::was_free;
      if (*done == Done::let_go) freed.insert(name);
    }
    owed_.erase(owed_.begin());
  }
  return freed;
}

/// Whether anything changed. The first look takes everything for changed: what was closed before it
/// is found by who waits.
Result<bool> KeyHolds::read_feed(std::span<const HoldingSource> sources) {
  if (!seen_) {
    const auto numbers = office_.aggregate({});
    if (!numbers) return numbers.error();
    seen_ = numbers->last_change;
    return true;
  }
  bool changed = false;
  for (int page = 0; page < most_pages && owed_.size() < most_owed; ++page) {
    const auto notes = office_.changes_since(*seen_, read_at_once);
    if (!notes) return notes.error();
    if (notes->empty()) break;
    if (auto noted = note_closed(sources, *notes); !noted) return noted.error();
    seen_ = notes->back().change;
    changed = true;
  }
  return changed;
}

Result<void> KeyHolds::note_closed(std::span<const HoldingSource> sources,
                                   const std::vector<ChangeNote>& notes) {
  Query query;
  query.statuses.assign(all_statuses().begin(), all_statuses().end());
  for (const ChangeNote& note : notes) {
    if (is_closed(note.status)) query.ids.push_back(note.id);
  }
  if (query.ids.empty()) return {};
  query.limit = query.ids.size();
  const auto heads = office_.list(query);
  if (!heads) return heads.error();
  for (const RecordHead& head : heads->rows) {
    if (head.key.empty() || find(sources, head.source) == nullptr) continue;
    owed_.emplace(head.source, head.key);
  }
  return {};
}

Result<void> KeyHolds::note_waiting(const HoldingSource& source) {
  std::size_t& skip = skip_[source.name];
  const auto keys = source.queue.held_keys(skip, keys_at_once);
  if (!keys) return keys.error();
  skip = keys->size() < keys_at_once ? 0 : skip + keys_at_once;
  for (const std::string& key : *keys) owed_.emplace(source.name, key);
  return {};
}

Result<KeyHolds::Done> KeyHolds::let_go(const HoldingSource& source, const std::string& key) {
  const auto hold = source.queue.hold_on(key);
  if (!hold) return hold.error();
  if (!hold->held) return Done::was_free;
  const auto page = office_.list(unended(source.name, key));
  if (!page) return page.error();
  if (!page->rows.empty() || page->partial) return Done::is_held;
  if (auto freed = source.queue.free_key(key); !freed) return freed.error();
  return Done::let_go;
}

}  // namespace dlo
