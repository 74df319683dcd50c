#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <vector>

#include "dlo/broker/lineup.h"

namespace dlo::embedded {

/// The messages of one key, in the order of publication. Only the head is in play: ready, delayed
/// or leased. The others are held. 32 bytes, and a name of up to 14 bytes is among them.
class KeyEntry {
 public:
  KeyEntry() = default;
  ~KeyEntry() { rename({}); }
  KeyEntry(const KeyEntry&) = delete;
  KeyEntry& operator=(const KeyEntry&) = delete;

  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] SlotNumber head() const noexcept { return head_; }
  Line followers;

 private:
  friend class KeyBook;
  static constexpr std::uint8_t elsewhere = 0xFF;
  void rename(std::string_view name);

  SlotNumber head_ = no_slot;
  std::uint32_t index_ = 0;
  char name_[14] = {};  // or where it is, and its length
  std::uint8_t length_ = 0;

 public:
  bool on_hold = false;  // a dead head keeps them back until the key is freed
};
static_assert(sizeof(KeyEntry) == 32);

/// The keys that are in use, found by name and by head. About 45 bytes a key.
/// Pointers to entries hold until they are erased.
class KeyBook {
 public:
  /// The entry of `key`, made if it is new.
  KeyEntry& at(std::string_view key);
  [[nodiscard]] KeyEntry* find(std::string_view key) noexcept;
  /// The key whose head this is, or nullptr.
  [[nodiscard]] KeyEntry* headed_by(SlotNumber slot) noexcept;
  [[nodiscard]] const KeyEntry* headed_by(SlotNumber slot) const noexcept {
    return const_cast<KeyBook*>(this)->headed_by(slot);  // NOLINT: it changes nothing
  }
  void set_head(KeyEntry& entry, SlotNumber slot);
  void erase(KeyEntry& entry);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Every entry, in no order. `each` adds and erases none.
  template <typename F>
  void for_each(F&& each) {
    for (KeyEntry& entry : entries_) {
      if (entry.length_ != 0) each(entry);
    }
  }
  template <typename F>
  void for_each(F&& each) const {
    for (const KeyEntry& entry : entries_) {
      if (entry.length_ != 0) each(entry);
    }
  }

 private:
  /// Entries by a hash of theirs: open addressing, four fifths full at most.
  class Index {
   public:
    template <typename Hash>
    void add(std::uint32_t entry, const Hash& hash_of);
    template <typename Hash>
    void remove(std::uint32_t entry, const Hash& hash_of) noexcept;
    /// The first entry with this hash for which `is` holds; `none` if there is none.
    template <typename Is>
    [[nodiscard]] std::uint32_t find(std::uint32_t hash, const Is& is) const noexcept;
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

   private:
    [[nodiscard]] std::size_t home(std::uint32_t hash) const noexcept {
      return (std::uint64_t{hash} * cells_.size()) >> 32;
    }
    [[nodiscard]] std::size_t after(std::size_t at) const noexcept {
      return at + 1 == cells_.size() ? 0 : at + 1;
    }
    std::vector<std::uint32_t> cells_;
    std::size_t count_ = 0;
  };

  std::deque<KeyEntry> entries_;  // never move; free ones have no name
  std::vector<std::uint32_t> free_;
  Index by_name_;
  Index by_head_;
  std::size_t size_ = 0;
};

}  // namespace dlo::embedded
