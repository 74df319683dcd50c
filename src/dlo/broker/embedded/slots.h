#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "dlo/broker/embedded/bytes.h"
#include "dlo/broker/embedded/expiries.h"
#include "dlo/broker/lineup.h"
#include "dlo/core/message.h"
#include "dlo/core/time.h"

namespace dlo::embedded {

/// `arriving`: written, not yet synced, so nobody may see it. `dead`: in the queue's own dead set.
enum class Place : std::uint8_t { free, arriving, ready, delayed, leased, held, dead };
inline constexpr std::size_t place_count = 7;

/// Everything memory holds of a message that waits: 36 bytes. The rest is in the journal, where
/// `segment`, `offset` and `relative` (its sequence, counted from the segment's first) find it.
/// `time` is when a delay ends, or since when it is ready, or the number of its lease's entry.
class Slot {
 public:
  std::uint32_t offset = 0;
  std::uint32_t size = 0;  // against max_bytes: content_size of the message
  SlotNumber next = no_slot;
  SlotNumber older = no_slot;  // among all of its queue, by publication
  SlotNumber newer = no_slot;

  [[nodiscard]] std::uint64_t time() const noexcept {
    return std::uint64_t{time_high_} << 32 | time_low_;
  }
  void set_time(std::uint64_t time) noexcept {
    time_low_ = static_cast<std::uint32_t>(time);
    time_high_ = static_cast<std::uint16_t>(time >> 32);
  }
  [[nodiscard]] std::uint32_t segment() const noexcept {
    return std::uint32_t{segment_high_} << 16 | segment_low_;
  }
  [[nodiscard]] std::uint32_t relative() const noexcept {
    return std::uint32_t{relative_high_} << 16 | relative_low_;
  }
  void set_record(std::uint32_t segment, std::uint32_t at, std::uint32_t relative) noexcept {
    segment_low_ = static_cast<std::uint16_t>(segment);
    segment_high_ = static_cast<std::uint8_t>(segment >> 16);
    offset = at;
    relative_low_ = static_cast<std::uint16_t>(relative);
    relative_high_ = static_cast<std::uint8_t>(relative >> 16);
  }

  std::uint16_t queue = 0;
  Place place : 4 = Place::free;
  Priority priority : 2 = Priority::normal;
  bool can_expire : 1 = false;
  bool keyed : 1 = false;
  bool carries : 1 = false;    // was published with counts of its own: they are in its record
  bool has_state : 1 = false;  // the record is a state that names the body, not the body itself
  bool repeat : 1 = false;     // a lease of it ran out: it may be in the office already
  bool redriven : 1 = false;   // from the dead set: the counts of its state are of an earlier life
  bool ahead : 1 = false;      // ... while it was running: it comes first
  std::uint8_t state_class : 3 = 0;

  /// How long the texts of its state are: half of it at least, and one and a half times at most.
  [[nodiscard]] std::uint32_t state_bytes() const noexcept { return text_sizes[state_class]; }
  void set_state_bytes(std::size_t bytes) noexcept {
    state_class = 0;
    while (state_class < 7 && text_sizes[state_class + 1] * 2 / 3 <= bytes) ++state_class;
  }

 private:
  static constexpr std::uint32_t text_sizes[8] = {0, 96, 288, 864, 2592, 7776, 23328, 69984};

  std::uint32_t time_low_ = 0;
  std::uint16_t time_high_ = 0;
  std::uint16_t segment_low_ = 0;
  std::uint16_t relative_low_ = 0;
  std::uint8_t segment_high_ = 0;
  std::uint8_t relative_high_ = 0;
};
static_assert(sizeof(Slot) <= 36, "what a waiting message may cost");

/// What stands for a key in memory; 0: no key. See key_book.h.
using KeyDigest = std::uint64_t;
inline constexpr std::size_t key_digest_size = 7;
using KeyBytes = std::array<char, key_digest_size>;

/// Slots by number, in blocks that never move. Messages with a key have blocks of their own, with
/// room for its digest, and blocks with messages that can expire have room for when: others do not
/// pay for it. A freed number is used again first, and a block
/// without a message is given back: after a peak the table is as small as before. While a snapshot
/// is being copied out, block by block, whoever edits a block that is not yet copied first puts its
/// old content aside: so a snapshot is of one moment and stops nobody.
class Slots {
 public:
  static constexpr SlotNumber block_size = Expiries::count;

  [[nodiscard]] SlotNumber take(bool keyed = false) {
    auto& open = open_[keyed ? 1 : 0];
    while (open.empty() || !owned_[open.back()]) find_room(keyed);
    const auto block = open.back();
    Use& use = uses_[block];
    SlotNumber number = use.free;
    if (number != no_slot) {
      Slot& slot = edit(number);
      use.free = slot.next;
      slot.next = no_slot;
    } else {
      number = block * block_size + use.fresh++;
    }
    used_ = std::max(used_, number + 1);
    if (use.used++ == 0) --empty_;
    if (use.used == block_size) {
      use.open = false;
      open.pop_back();
    }
    return number;
  }
  void give_back(SlotNumber number) noexcept {
    Slot& slot = edit(number);
    slot = Slot{};
    if (!counted_) return;
    const auto block = number / block_size;
    Use& use = uses_[block];
    slot.next = use.free;
    use.free = number;
    if (!use.open) {
      use.open = true;
      open_[keys_[block] ? 1 : 0].push_back(block);
    }
    if (--use.used == 0) [[unlikely]]
      vacate(block);
  }
  /// Any number below `size`: of a block that was given back all slots are free.
  [[nodiscard]] const Slot& operator[](SlotNumber number) const noexcept {
    return blocks_[number / block_size][number % block_size];
  }
  /// One that is taken.
  [[nodiscard]] Slot& edit(SlotNumber number) noexcept {
    const auto block = number / block_size;
    if (block >= uncopied_) [[unlikely]]
      put_aside(block);
    return owned_[block][number % block_size];
  }
  [[nodiscard]] KeyDigest key(SlotNumber number) const noexcept {
    KeyDigest key = 0;
    const auto& keys = keys_[number / block_size];
    if (keys) std::memcpy(&key, keys[number % block_size].data(), key_digest_size);
    return key;
  }
  void set_key(SlotNumber number, KeyDigest key);
  [[nodiscard]] Expiry expiry(SlotNumber number) const noexcept {
    return expiries_[number / block_size][number % block_size];
  }
  /// Of a message that can expire, once its slot says so.
  void set_expiry(SlotNumber number, Expiry expiry);
  [[nodiscard]] SlotNumber size() const noexcept { return used_; }
  /// Blocks that take memory.
  [[nodiscard]] std::size_t blocks() const noexcept { return owned_count_; }

  /// For reading a journal back: slots are named, not taken.
  void grow_to(SlotNumber count) {
    if (count > used_) [[unlikely]]
      grow(count);
  }
  void own(SlotNumber number) {
    if (!owned_[number / block_size]) [[unlikely]]
      make(number / block_size);
  }
  /// ... and afterwards the free ones are found.
  void rebuild_free_list();

  void begin_snapshot();
  [[nodiscard]] std::size_t snapshot_blocks() const noexcept { return aside_.size(); }
  /// A block as it was when a snapshot began.
  struct Copy {
    std::vector<Slot> slots = std::vector<Slot>(block_size);
    std::vector<KeyBytes> keys = std::vector<KeyBytes>(block_size);
    std::vector<Expiry> expiries = std::vector<Expiry>(block_size);
    bool used = false;     // false: all of it was free
    bool keyed = false;    // `keys` mean something
    bool expires = false;  // `expiries` do
  };
  /// The next block.
  void copy_block(std::size_t block, Copy& into) noexcept;
  void end_snapshot() noexcept;

  // What lines ask of a table.
  [[nodiscard]] SlotNumber next(SlotNumber number) const noexcept { return (*this)[number].next; }
  void set_next(SlotNumber number, SlotNumber next) noexcept { edit(number).next = next; }
  [[nodiscard]] TimePoint since(SlotNumber number) const noexcept {
    return unpack((*this)[number].time());
  }
  [[nodiscard]] Priority priority(SlotNumber number) const noexcept {
    return (*this)[number].priority;
  }

 private:
  using Block = std::unique_ptr<Slot[]>;
  struct Use {
    SlotNumber free = no_slot;  // first of those that were given back
    std::uint16_t fresh = 0;    // from here on nobody was taken yet
    std::uint16_t used = 0;
    bool open = false;  // among `open_`
  };
  using Keys = std::unique_ptr<KeyBytes[]>;
  struct Aside {
    Block slots;
    Keys keys;
    std::unique_ptr<Expiry[]> expiries;
  };
  void grow(SlotNumber count);
  void add_block();
  void make(SlotNumber block);
  void find_room(bool keyed);
  void vacate(SlotNumber block) noexcept;
  void release(SlotNumber block) noexcept;
  void put_aside(std::size_t block) noexcept;

  std::vector<const Slot*> blocks_;  // to read; of a block that is not owned: free slots
  std::vector<Block> owned_;
  std::vector<Use> uses_;
  std::vector<Keys> keys_;           // of blocks whose messages have some
  std::vector<Expiries> expiries_;   // likewise
  std::vector<SlotNumber> open_[2];  // blocks with room, and some that were given back; [1]: keyed
  std::vector<SlotNumber> vacant_;   // blocks that were given back, and some that are gone
  std::size_t owned_count_ = 0;
  std::size_t empty_ = 0;  // owned, and nobody is in them
  bool counted_ = true;    // false while a journal is read back
  SlotNumber used_ = 0;
  std::size_t uncopied_ = SIZE_MAX;  // first block the snapshot still has to copy
  std::vector<Aside> aside_;
};

}  // namespace dlo::embedded
