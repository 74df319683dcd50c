#include "dlo/broker/embedded/slots.h"

#include <algorithm>

namespace dlo::embedded {

void Slots::rebuild_free_list() noexcept {
  free_ = no_slot;
  for (SlotNumber number = used_; number-- > 0;) {
    if ((*this)[number].place != Place::free) continue;
    Slot& slot = edit(number);
    slot = Slot{};
    slot.next = free_;
    free_ = number;
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
  std::copy_n(blocks_[block].get(), block_size, aside_[block].get());
}

void Slots::copy_block(std::size_t block, Slot* into) noexcept {
  const Slot* from = aside_[block] ? aside_[block].get() : blocks_[block].get();
  std::copy_n(from, block_size, into);
  aside_[block].reset();
  uncopied_ = block + 1;
}

void Slots::end_snapshot() noexcept {
  aside_.clear();
  uncopied_ = SIZE_MAX;
}

}  // namespace dlo::embedded
