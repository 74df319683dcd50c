#pragma once

#include <cstdint>
#include <string_view>

#include "dlo/broker/embedded/slots.h"

namespace dlo::embedded::checkpoint_format {

/// What a checkpoint is made of: chunks of `kind u8 | size u32 | crc u32 | bytes`. See FORMAT.md.
inline constexpr char file_name[] = "checkpoint";
inline constexpr char new_name[] = "checkpoint.new";
inline constexpr std::string_view magic = "DLOQCKP7";
// 6: nobody set the clock, and the end does not repeat the version. 5: nobody knows when messages
// expire. 4: no block is packed. 3: ids are in the description, too.
inline constexpr std::string_view magics_before[] = {"DLOQCKP6", "DLOQCKP5", "DLOQCKP4",
                                                     "DLOQCKP3"};
inline constexpr std::size_t block_bytes = Slots::block_size * sizeof(Slot);
inline constexpr std::size_t keys_bytes = Slots::block_size * sizeof(KeyBytes);
inline constexpr std::size_t expiries_bytes = Slots::block_size * sizeof(Expiry);

enum class Chunk : std::uint8_t {
  description = 1,
  arrivals = 2,
  block = 3,
  end = 4,
  free = 5,
  keys = 6,      // of the block before it
  ids = 7,       // some that a queue remembers
  packed = 8,    // a block, see slot_pack.h
  expiries = 9,  // of the block before it
};

}  // namespace dlo::embedded::checkpoint_format
