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
  while (std::uint64_t{blocks_.size()} * block_size < count) {
    blocks_.push_back(all_free());
    owned_.emplace_back();
    uses_.emplace_back();
  }
  used_ = std::max(used_, count);
}

void Slots::make(SlotNumber block) {
  owned_[block] = std::make_unique<Slot[]>(block_size);
  blocks_[block] = owned_[block].get();
  ++owned_count_;
}

/// Puts a block with room on top of `open_`.
void Slots::find_room() {
  if (!open_.empty()) {  // the top one was given back meanwhile
    uses_[open_.back()].open = false;
    open_.pop_back();
    return;
  }
  SlotNumber block = static_cast<SlotNumber>(blocks_.size());
  while (!vacant_.empty() && block == blocks_.size()) {
    const auto known = vacant_.back();
    vacant_.pop_back();
    if (known < blocks_.size() && !owned_[known]) block = known;
  }
  if (block == blocks_.size()) {
    blocks_.push_back(all_free());
    owned_.emplace_back();
    uses_.emplace_back();
  }
  make(block);
  uses_[block] = Use{};
  uses_[block].open = true;
  ++empty_;
  open_.push_back(block);
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
    uses_.pop_back();
    used_ = std::min(used_, static_cast<SlotNumber>(blocks_.size() * block_size));
  }
}

void Slots::release(SlotNumber block) noexcept {
  owned_[block].reset();
  blocks_[block] = all_free();
  --owned_count_;
  vacant_.push_back(block);
}

void Slots::rebuild_free_list() {
  counted_ = true;
  open_.clear();
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
    for (SlotNumber i = block_size; i-- > 0;) {
      const auto number = block * block_size + i;
      if ((*this)[number].place != Place::free) {
        ++use.used;
        continue;
      }
      Slot& slot = edit(number);
      slot = Slot{};
      slot.next = use.free;
      use.free = number;
    }
    const bool kept = use.used > 0 || empty_ < kept_empty;
    empty_ += use.used == 0 && kept;
    use.open = kept && use.used < block_size;
    uses_[block] = use;
    if (use.open) open_.push_back(block);
    if (!kept) release(block);
  }
}

void Slots::begin_snapshot() {
  aside_.clear();
  aside_.resize(blocks_.size());
  uncopied_ = 0;
}

void Slots::put_aside(std::size_t block) noexcept {
  if (block >= aside_.size() || aside_[block]) return;  // newer than the snapshot, or saved
  aside_[block] = std::make_unique<Slot[]>(block_size);
  std::copy_n(blocks_[block], block_size, aside_[block].get());
}

bool Slots::copy_block(std::size_t block, Slot* into) noexcept {
  const Slot* from = aside_[block] ? aside_[block].get() : blocks_[block];
  const bool used = from != all_free();
  std::copy_n(from, block_size, into);
  aside_[block].reset();
  uncopied_ = block + 1;
  return used;
}

void Slots::end_snapshot() noexcept {
  aside_.clear();
  uncopied_ = SIZE_MAX;
}

}  // namespace dlo::embedded
