#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/broker/embedded/slots.h"
#include "dlo/broker/lineup.h"

namespace dlo::embedded {

/// What memory knows of a key: 56 bits of its SHA-256, never 0. Two of ten million keys in use
/// share them with probability 1e-3, and then merely wait for each other as if they were one.
[[nodiscard]] KeyDigest digest_of_key(std::string_view key);

/// What a key's messages do not say themselves. Few keys need it.
struct KeyNote {
  KeyDigest key = 0;  // 0: room for another
  SlotNumber last = no_slot;
  bool on_hold = false;  // a dead head keeps the others back until the key is freed
};

/// The keys that are in use. Only the head of a key is in play: ready, delayed or leased. Its
/// followers are held, linked in a ring in the order of publication. The digest of a message's key
/// is beside its slot, so a key costs one entry of an index: its head if that is alone, else the
/// last follower, who knows the first. Five bytes a key, and nothing for a message.
class KeyBook {
 public:
  /// Whether `slot` is the only one of its key; else it stands behind the others and is to be held.
  bool join(Slots& slots, SlotNumber slot);

  /// `slot`, head or not, leaves its key; `hold` keeps the others back. Answers who is the head
  /// from now on, if that changes.
  SlotNumber leave(Slots& slots, SlotNumber slot, bool hold);

  /// Ends the hold on a key, and answers who is its head now.
  SlotNumber free(Slots& slots, KeyDigest key);

  [[nodiscard]] bool on_hold(const Slots& slots, KeyDigest key) const noexcept;
  /// ... and how many wait behind it.
  [[nodiscard]] KeyHold hold_on(const Slots& slots, KeyDigest key) const noexcept;
  /// Who is the first to wait behind a hold, of up to `limit` keys after `skip` of them.
  [[nodiscard]] std::vector<SlotNumber> held_back(const Slots& slots, std::size_t skip,
                                                  std::size_t limit) const;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// For a checkpoint: the last followers of keys without a note, and the notes. Heads that are
  /// alone are not written: they `join` when the rest is there.
  void restore_followers(const Slots& slots, SlotNumber last) { add(slots, last | ring_bit); }
  void restore(const Slots& slots, const KeyNote& note);
  [[nodiscard]] bool has(const Slots& slots, KeyDigest key) const noexcept {
    return find(slots, key) != nullptr;
  }
  template <typename F>
  void for_each_ring(F&& each) const {
    if (!shelves_) return;
    for (const Shelf& shelf : *shelves_) {
      for (std::size_t i = 0; i < shelf.size; ++i) {
        const Cell cell = shelf.at(i);
        if (cell != none && (cell & ring_bit) != 0) each(cell & ~ring_bit);
      }
    }
  }
  template <typename F>
  void for_each_note(F&& each) const {
    for (const KeyNote& note : notes_) {
      if (note.key != 0) each(note);
    }
  }

 private:
  /// The slot of a head that is alone, or of the last follower, or the number of a note.
  using Cell = std::uint32_t;
  static constexpr Cell none = no_slot;
  static constexpr Cell ring_bit = 1U << 31U;
  static constexpr Cell note_bit = 1U << 30U;  // without it a slot: a billion are possible
  /// Open addressing in pages of one size, which what grows hands to what grows next; and in parts
  /// that grow by themselves: nobody waits while all of it is made anew.
  struct Shelf {
    static constexpr std::size_t page_size = 256;
    std::vector<std::unique_ptr<Cell[]>> pages;
    std::uint32_t size = 0;
    std::uint32_t count = 0;
    [[nodiscard]] Cell& at(std::size_t i) noexcept { return pages[i / page_size][i % page_size]; }
    [[nodiscard]] Cell at(std::size_t i) const noexcept {
      return pages[i / page_size][i % page_size];
    }
    void resize(std::size_t cells);
  };
  static constexpr std::size_t shelf_count = 64;
  using Shelves = std::array<Shelf, shelf_count>;

  [[nodiscard]] static bool is_note(Cell cell) noexcept {
    return (cell & (ring_bit | note_bit)) == note_bit;
  }
  [[nodiscard]] static bool is_ring(Cell cell) noexcept { return (cell & ring_bit) != 0; }
  [[nodiscard]] KeyNote& note_in(Cell cell) noexcept { return notes_[cell & ~note_bit]; }
  [[nodiscard]] KeyDigest key_in(const Slots& slots, Cell cell) const noexcept;
  [[nodiscard]] Cell* find(const Slots& slots, KeyDigest key) const noexcept;
  void add(const Slots& slots, Cell cell);
  void remove(const Slots& slots, KeyDigest key) noexcept;
  void grow(const Slots& slots, Shelf& shelf);
  [[nodiscard]] Cell make_note(const KeyNote& note);
  void drop_note(Cell cell);
  SlotNumber leave_as_head(Slots& slots, Cell& cell, KeyDigest key, bool hold);
  void leave_ring(Slots& slots, Cell& cell, KeyDigest key, SlotNumber slot);

  std::unique_ptr<Shelves> shelves_;  // none before the first key
  std::deque<KeyNote> notes_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace dlo::embedded
