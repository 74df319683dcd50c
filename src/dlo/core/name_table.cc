#include "dlo/core/name_table.h"

#include <algorithm>

#include "dlo/core/spelling.h"

namespace dlo {

std::uint64_t NameTable::hash_of(std::string_view name) const noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(ignore_case_ ? ascii_lower(c) : c);
    hash *= 0x100'0000'01b3;
  }
  return hash ^ (hash >> 32);
}

bool NameTable::same(std::string_view a, std::string_view b) const noexcept {
  if (!ignore_case_) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

std::span<const std::uint32_t> NameTable::find(std::string_view name) const noexcept {
  if (((lengths_ >> (name.size() % 64)) & 1) == 0) return {};
  const std::uint64_t hash = hash_of(name);
  for (std::size_t slot = hash; true; ++slot) {
    const std::uint32_t filled = slots_[slot & (slots_.size() - 1)];
    if (filled == 0) return {};
    const Entry& entry = entries_[filled - 1];
    if (entry.hash == hash && same(entry.name, name)) return entry.numbers;
  }
}

void NameTable::add(std::string_view name, std::uint32_t number) {
  lengths_ |= std::uint64_t{1} << (name.size() % 64);
  const std::uint64_t hash = hash_of(name);
  for (Entry& entry : entries_) {
    if (entry.hash == hash && same(entry.name, name)) {
      entry.numbers.push_back(number);
      return;
    }
  }
  entries_.push_back({std::string(name), hash, {number}});
  grow();
}

void NameTable::grow() {
  std::size_t size = 8;
  while (size < entries_.size() * 2) size *= 2;
  slots_.assign(size, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & (size - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace dlo
