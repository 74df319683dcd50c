#include "dlo/broker/embedded/key_book.h"

#include <algorithm>
#include <functional>

namespace dlo::embedded {
namespace {

std::uint32_t mixed(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>((value * 0x9E37'79B9'7F4A'7C15U) >> 32);
}
std::uint32_t hash(std::string_view name) noexcept {
  return mixed(std::hash<std::string_view>{}(name));
}

}  // namespace

std::string_view KeyEntry::name() const noexcept {
  if (length_ != elsewhere) return {name_, length_};
  const char* text = nullptr;
  std::uint32_t size = 0;
  std::memcpy(&text, name_, sizeof text);
  std::memcpy(&size, name_ + sizeof text, sizeof size);
  return {text, size};
}

void KeyEntry::rename(std::string_view name) {
  if (length_ == elsewhere) delete[] this->name().data();
  if (name.size() <= sizeof name_) {
    std::copy(name.begin(), name.end(), name_);
    length_ = static_cast<std::uint8_t>(name.size());
    return;
  }
  char* text = new char[name.size()];
  std::copy(name.begin(), name.end(), text);
  const auto size = static_cast<std::uint32_t>(name.size());
  std::memcpy(name_, &text, sizeof text);
  std::memcpy(name_ + sizeof text, &size, sizeof size);
  length_ = elsewhere;
}

template <typename Hash>
void KeyBook::Index::add(std::uint32_t entry, const Hash& hash_of) {
  constexpr std::size_t smallest = 15;
  const auto put = [&](std::uint32_t each) {
    auto at = home(hash_of(each));
    while (cells_[at] != none) at = after(at);
    cells_[at] = each;
  };
  if ((count_ + 1) * 5 > cells_.size() * 4) {
    std::vector<std::uint32_t> before(std::max(smallest, cells_.size() * 7 / 5), none);
    before.swap(cells_);
    for (const auto each : before) {
      if (each != none) put(each);
    }
  }
  put(entry);
  ++count_;
}

template <typename Hash>
void KeyBook::Index::remove(std::uint32_t entry, const Hash& hash_of) noexcept {
  auto hole = home(hash_of(entry));
  while (cells_[hole] != entry) hole = after(hole);
  const auto distance = [&](std::size_t from, std::size_t to) {
    return to >= from ? to - from : to + cells_.size() - from;
  };
  // Whoever stands further on because of this one moves up.
  for (auto at = after(hole); cells_[at] != none; at = after(at)) {
    if (distance(home(hash_of(cells_[at])), at) < distance(hole, at)) continue;
    cells_[hole] = cells_[at];
    hole = at;
  }
  cells_[hole] = none;
  if (--count_ == 0) cells_ = {};
}

template <typename Is>
std::uint32_t KeyBook::Index::find(std::uint32_t hash, const Is& is) const noexcept {
  if (cells_.empty()) return none;
  for (auto at = home(hash); cells_[at] != none; at = after(at)) {
    if (is(cells_[at])) return cells_[at];
  }
  return none;
}

KeyEntry* KeyBook::find(std::string_view key) noexcept {
  const auto found =
      by_name_.find(hash(key), [&](std::uint32_t each) { return entries_[each].name() == key; });
  return found == Index::none ? nullptr : &entries_[found];
}

KeyEntry* KeyBook::headed_by(SlotNumber slot) noexcept {
  const auto found =
      by_head_.find(mixed(slot), [&](std::uint32_t each) { return entries_[each].head_ == slot; });
  return found == Index::none ? nullptr : &entries_[found];
}

KeyEntry& KeyBook::at(std::string_view key) {
  if (KeyEntry* known = find(key)) return *known;
  std::uint32_t index = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back().index_ = index;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  entries_[index].rename(key);
  by_name_.add(index, [this](std::uint32_t each) { return hash(entries_[each].name()); });
  ++size_;
  return entries_[index];
}

void KeyBook::set_head(KeyEntry& entry, SlotNumber slot) {
  const auto hash_of = [this](std::uint32_t each) { return mixed(entries_[each].head_); };
  if (entry.head_ != no_slot) by_head_.remove(entry.index_, hash_of);
  entry.head_ = slot;
  if (slot != no_slot) by_head_.add(entry.index_, hash_of);
}

void KeyBook::erase(KeyEntry& entry) {
  set_head(entry, no_slot);
  by_name_.remove(entry.index_, [this](std::uint32_t each) { return hash(entries_[each].name()); });
  entry.rename({});
  entry.followers = {};
  entry.on_hold = false;
  free_.push_back(entry.index_);
  if (--size_ > 0) return;
  entries_.clear();  // after a peak
  free_ = {};
}

}  // namespace dlo::embedded
