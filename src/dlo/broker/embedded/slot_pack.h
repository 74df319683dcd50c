#pragma once

#include <string>
#include <string_view>

#include "dlo/broker/embedded/slots.h"

namespace dlo::embedded {

/// A block of slots in a few bytes each instead of 36. Messages that came one after the other
/// differ from their neighbours by the same steps, so only where a step changes is anything written
/// down. FORMAT.md has the bytes. `block` is Slots::block_size slots.
void pack_slots(const Slot* block, std::string& out);

/// False if these bytes are not a packed block.
[[nodiscard]] bool unpack_slots(std::string_view bytes, Slot* block) noexcept;

}  // namespace dlo::embedded
