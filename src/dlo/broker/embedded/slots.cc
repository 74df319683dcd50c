#include "dlo/broker/embedded/slots.h"

#include <algorithm>
#include <array>

namespace dlo::embedded {
namespace {

constexpr std::size_t kept_empty = 2;  // blocks, so that one message to and fro costs nothing

const Slot* all_free() {
  static const std::array<Slot, Slots::block_size> block{};
  return block.data();
}

}  // namespace

void Slots::grow(SlotNumber count) {
  counted_ = false;
  while (std::uint64_t{blocks_.size()} * block_size < count) add_block();
  used_ = std::max(used_, count);
}

void Slots::add_block() {
  blocks_.push_back(all_free());
  owned_.emplace_back();
  keys_.emplace_back();
  expiries_.emplace_back();
  uses_.emplace_back();
}

void Slots::set_key(SlotNumber number, KeyDigest key) {
  const auto block = number / block_size;
  if (block >= uncopied_) put_aside(block);
  auto& keys = keys_[block];
  if (!keys) keys = std::make_unique<KeyBytes[]>(block_size);
  std::memcpy(keys[number % block_size].data(), &key, key_digest_size);
}

void Slots::set_expiry(SlotNumber number, Expiry expiry) {
  const auto block = number / block_size;
  if (block >= uncopied_) put_aside(block);
  const Slot* slots = blocks_[block];
  expiries_[block].set(number % block_size, expiry, [&](std::size_t i) {
    return slots[i].place != Place::free && slots[i].can_expire;
  });
}

void Slots::make(SlotNumber block) {
  owned_[block] = std::make_unique<Slot[]>(block_size);
  blocks_[block] = owned_[block].get();
  ++owned_count_;
}

/// Puts a block with room on top of its `open_`.
void Slots::find_room(bool keyed) {
  auto& open = open_[keyed ? 1 : 0];
  if (!open.empty()) {  // the top one was given back meanwhile
    uses_[open.back()].open = false;
    vacant_.push_back(open.back());
    open.pop_back();
    return;
  }
  SlotNumber block = static_cast<SlotNumber>(blocks_.size());
  while (!vacant_.empty() && block == blocks_.size()) {
    const auto known = vacant_.back();
    vacant_.pop_back();
    // One that is still listed comes back when its list drops it.
    if (known < blocks_.size() && !owned_[known] && !uses_[known].open) block = known;
  }
  if (block == blocks_.size()) add_block();
  make(block);
  if (keyed) keys_[block] = std::make_unique<KeyBytes[]>(block_size);
  uses_[block] = Use{};
  uses_[block].open = true;
  ++empty_;
  open.push_back(block);
}

/// Nobody is in this block any more.
void Slots::vacate(SlotNumber block) noexcept {
  if (empty_ < kept_empty) {
    ++empty_;
    return;
  }
  release(block);
  if (uncopied_ != SIZE_MAX) return;
  while (!blocks_.empty() && !owned_.back()) {
    if (uses_.back().open) return;  // still listed: find_room drops it first
    blocks_.pop_back();
    owned_.pop_back();
    keys_.pop_back();
    expiries_.pop_back();
    uses_.pop_back();
    used_ = std::min(used_, static_cast<SlotNumber>(blocks_.size() * block_size));
  }
}

void Slots::release(SlotNumber block) noexcept {
  owned_[block].reset();
  keys_[block].reset();
  expiries_[block].reset();
  blocks_[block] = all_free();
  --owned_count_;
  vacant_.push_back(block);
}

void Slots::rebuild_free_list() {
  counted_ = true;
  for (auto& open : open_) open.clear();
  vacant_.clear();
  empty_ = 0;
  for (auto block = static_cast<SlotNumber>(blocks_.size()); block-- > 0;) {
    Use use;
    use.fresh = block_size;
    if (!owned_[block]) {
      vacant_.push_back(block);
      uses_[block] = use;
      continue;
    }
    bool keyed = false;
    bool expires = false;
    const Slot* slots = blocks_[block];
    for (SlotNumber i = 0; i < block_size; ++i) {  // forwards: that is what memory is quick at
      const bool used = slots[i].place != Place::free;
      use.used = static_cast<std::uint16_t>(use.used + used);
      keyed = keyed || (used && slots[i].keyed);
      expires = expires || (used && slots[i].can_expire);
    }
    for (SlotNumber i = block_size; use.used < block_size && i-- > 0;) {
      if (slots[i].place != Place::free) continue;
      Slot& slot = edit(block * block_size + i);
      slot = Slot{};
      slot.next = use.free;
      use.free = block * block_size + i;
    }
    if (!keyed) keys_[block].reset();
    if (!expires) expiries_[block].reset();
    const bool kept = use.used > 0 || empty_ < kept_empty;
    empty_ += use.used == 0 && kept;
    use.open = kept && use.used < block_size;
    uses_[block] = use;
    if (use.open) open_[keyed ? 1 : 0].push_back(block);
    if (!kept) release(block);
  }
}

void Slots::begin_snapshot() {
  aside_.clear();
  aside_.resize(blocks_.size());
  uncopied_ = 0;
}

void Slots::put_aside(std::size_t block) noexcept {
  if (block >= aside_.size() || aside_[block].slots) return;  // newer than the snapshot, or saved
  Aside& aside = aside_[block];
  aside.slots = std::make_unique<Slot[]>(block_size);
  std::copy_n(blocks_[block], block_size, aside.slots.get());
  if (keys_[block]) {
    aside.keys = std::make_unique<KeyBytes[]>(block_size);
    std::copy_n(keys_[block].get(), block_size, aside.keys.get());
  }
  if (expiries_[block].any()) {
    aside.expiries = std::make_unique_for_overwrite<Expiry[]>(block_size);
    expiries_[block].copy_to(aside.expiries.get());
  }
}

void Slots::copy_block(std::size_t block, Copy& into) noexcept {
  Aside& aside = aside_[block];
  const Slot* from = aside.slots ? aside.slots.get() : blocks_[block];
  const KeyBytes* keys = aside.slots ? aside.keys.get() : keys_[block].get();
  into.used = from != all_free();
  into.keyed = into.used && keys != nullptr;
  into.expires = into.used && (aside.slots ? aside.expiries != nullptr : expiries_[block].any());
  std::copy_n(from, block_size, into.slots.begin());
  if (into.keyed) std::copy_n(keys, block_size, into.keys.begin());
  if (into.expires && aside.slots) {
    std::copy_n(aside.expiries.get(), block_size, into.expiries.begin());
  } else if (into.expires) {
    expiries_[block].copy_to(into.expiries.data());
  }
  aside = {};
  uncopied_ = block + 1;
}

void Slots::end_snapshot() noexcept {
  aside_.clear();
  uncopied_ = SIZE_MAX;
}

}  // namespace dlo::embedded
