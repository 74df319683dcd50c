#include "dlo/broker/embedded/dedupe_book.h"

#include <algorithm>

#include "dlo/broker/moments.h"
#include "dlo/core/sha256.h"

namespace dlo::embedded {
namespace {

constexpr std::size_t first_table = 64;

}  // namespace

IdDigest digest_of(std::string_view dedupe_id) {
  Sha256 hash;
  hash.update(dedupe_id);
  const auto digest = hash.finish();
  IdDigest id;
  for (int i = 0; i < 8; ++i) id.high = id.high << 8 | digest[static_cast<std::size_t>(i)];
  for (int i = 8; i < 12; ++i) id.low = id.low << 8 | digest[static_cast<std::size_t>(i)];
  return id;
}

void DedupeBook::insert(std::vector<Entry>& table, const Entry& entry) noexcept {
  auto at = entry.digest[1] % table.size();
  while (table[at].millis != empty) at = at + 1 == table.size() ? 0 : at + 1;
  table[at] = entry;
}

const DedupeBook::Entry* DedupeBook::find_in_table(const Generation& generation,
                                                   const IdDigest& id) const noexcept {
  const auto& table = generation.entries;
  if (table.empty()) return nullptr;
  auto at = static_cast<std::uint32_t>(id.high) % table.size();
  while (table[at].millis != empty) {
    if (table[at].id() == id) return &table[at];
    at = at + 1 == table.size() ? 0 : at + 1;
  }
  return nullptr;
}

// Digests are evenly spread, so the place of one can be guessed from its value.
const DedupeBook::Entry* DedupeBook::find_sorted(const Generation& generation,
                                                 const IdDigest& id) noexcept {
  const auto& entries = generation.entries;
  if (entries.empty()) return nullptr;
  const auto guess = static_cast<std::size_t>((id.high >> 32) * entries.size() >> 32);
  std::size_t low = guess;
  for (std::size_t step = 8; low > 0 && entries[low].id() > id; step *= 2) {
    low = low > step ? low - step : 0;
  }
  std::size_t high = guess + 1;
  for (std::size_t step = 8; high < entries.size() && entries[high - 1].id() < id; step *= 2) {
    high = std::min(entries.size(), high + step);
  }
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(high);
  const auto found = std::lower_bound(
      entries.begin() + static_cast<std::ptrdiff_t>(low), end, id,
      [](const Entry& entry, const IdDigest& wanted) { return entry.id() < wanted; });
  return found != end && found->id() == id ? &*found : nullptr;
}

std::optional<std::uint64_t> DedupeBook::answer(const Generation& generation, const Entry* entry,
                                                TimePoint now) const noexcept {
  if (entry == nullptr) return std::nullopt;
  if (later(generation.began + Millis{entry->millis}, window_) <= now) return std::nullopt;
  return generation.first_position + entry->position;
}

std::optional<std::uint64_t> DedupeBook::find(const IdDigest& id, TimePoint now) const noexcept {
  if (const auto found = answer(young_, find_in_table(young_, id), now)) return found;
  for (std::size_t i = closed_.size(); i-- > 0;) {
    if (const auto found = answer(closed_[i], find_sorted(closed_[i], id), now)) return found;
  }
  return std::nullopt;
}

bool DedupeBook::fits(const Generation& generation, std::uint64_t position,
                      TimePoint now) const noexcept {
  constexpr std::int64_t longest = empty - 1;
  const auto share = std::max(window_.count() / generations_a_window, Millis::rep{1});
  const auto age = (now - generation.began).count();
  return age >= 0 && age <= std::min(share, longest) &&
         position - generation.first_position < empty;
}

void DedupeBook::close(Generation& generation) {
  std::erase_if(generation.entries, [](const Entry& entry) { return entry.millis == empty; });
  std::sort(generation.entries.begin(), generation.entries.end(),
            [](const Entry& a, const Entry& b) { return a.id() < b.id(); });
  generation.entries.shrink_to_fit();
}

void DedupeBook::forget(TimePoint now) {
  while (!closed_.empty() && later(closed_.front().newest, window_) <= now) closed_.pop_front();
}

void DedupeBook::remember(const IdDigest& id, std::uint64_t position, TimePoint now) {
  forget(now);
  if (young_.count == 0 || !fits(young_, position, now)) {
    if (young_.count != 0) {
      close(young_);
      closed_.push_back(std::move(young_));
    }
    young_ = {now, now, position, {}, 0};
  }
  Generation& young = young_;
  if ((young.count + 1) * 5 > young.entries.size() * 4) {
    std::vector<Entry> larger(std::max(first_table, young.entries.size() * 3 / 2),
                              Entry{{0, 0, 0}, 0, empty});
    for (const Entry& entry : young.entries) {
      if (entry.millis != empty) insert(larger, entry);
    }
    young.entries = std::move(larger);
  }
  young.newest = std::max(young.newest, now);
  ++young.count;
  insert(young.entries, Entry{{static_cast<std::uint32_t>(id.high >> 32),
                               static_cast<std::uint32_t>(id.high), id.low},
                              static_cast<std::uint32_t>(position - young.first_position),
                              static_cast<std::uint32_t>((now - young.began).count())});
}

std::size_t DedupeBook::bytes() const noexcept {
  std::size_t total = young_.entries.capacity() * sizeof(Entry);
  for (const auto& each : closed_) total += each.entries.capacity() * sizeof(Entry);
  return total;
}

std::size_t DedupeBook::size() const noexcept {
  std::size_t total = young_.count;
  for (const auto& each : closed_) total += each.count;
  return total;
}

void DedupeBook::save(const Generation& generation, ByteWriter& out) {
  out.moment(generation.began);
  out.moment(generation.newest);
  out.u64(generation.first_position);
  out.number(generation.count);
  for (const Entry& entry : generation.entries) {
    if (entry.millis == empty) continue;
    for (const auto part : entry.digest) out.u32(part);
    out.u32(entry.position);
    out.u32(entry.millis);
  }
}

void DedupeBook::save(ByteWriter& out) const {
  out.number(closed_.size() + (young_.count != 0));
  for (const Generation& each : closed_) save(each, out);
  if (young_.count != 0) save(young_, out);
}

bool DedupeBook::load(ByteReader& in) {
  closed_.clear();
  young_ = {};
  const auto count = in.number();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    Generation each;
    each.began = in.moment();
    each.newest = in.moment();
    each.first_position = in.u64();
    each.count = in.number();
    if (each.count > in.left() / sizeof(Entry)) return false;
    each.entries.resize(each.count);
    for (Entry& entry : each.entries) {
      for (auto& part : entry.digest) part = in.u32();
      entry.position = in.u32();
      entry.millis = in.u32();
    }
    close(each);
    closed_.push_back(std::move(each));
  }
  return in.ok();
}

}  // namespace dlo::embedded
