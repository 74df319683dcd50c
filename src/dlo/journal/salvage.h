#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/journal/journal.h"
#include "dlo/journal/recovery.h"
#include "dlo/journal/segments.h"

namespace dlo {

/// A record out of a damaged stretch of a segment.
struct Salvaged {
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;
  Location location;
  std::string body;
  bool whole = false;     // its own checksum holds; else type, place and length are all there is
  bool outlined = false;  // ... and a checksum vouches for these
};

/// What can still be told of the records in [begin, end), where no group is whole. A record has a
/// checksum of its own that names its sequence, so one damaged record costs its group no other.
/// `sequence`: what the first of them must have, if that is known.
[[nodiscard]] Result<std::vector<Salvaged>> salvage(Segment& segment, std::uint64_t begin,
                                                    std::uint64_t end,
                                                    std::optional<std::uint64_t> sequence);

/// Whether [begin, next.offset) held the first seal of a clean stop and nothing else, whatever is
/// left of it. Every byte of such a seal is known, and the group behind it knows its checksum.
/// `previous_crc`: of the group before it.
[[nodiscard]] bool held_first_seal(const Segment& segment, std::uint64_t begin,
                                   const FoundGroup& next, std::uint32_t previous_crc);

/// Whether this is what a power cut left of the second seal of a clean stop that belongs here:
/// zeros from some byte on, or up to one.
[[nodiscard]] bool is_torn_seal(std::string_view bytes, std::uint64_t epoch, const LogEnd& here);

/// How far these bytes go on with records of a group that came `next` and whose header is gone, and
/// perhaps its first sector; 0: they do not. What a recycled file still holds has other sequences.
struct GoesOn {
  std::size_t end = 0;
  std::uint64_t checked = 0;  // bytes that were summed up to find out
};
[[nodiscard]] GoesOn goes_on_without_header(std::string_view bytes, std::uint64_t next) noexcept;
/// Whatever lies there, no more than this is summed up: whoever starts waits for it.
inline constexpr std::uint64_t most_checked = 64U << 20U;

}  // namespace dlo
