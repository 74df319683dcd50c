#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/journal/format.h"
#include "dlo/journal/journal.h"
#include "dlo/journal/segments.h"

namespace dlo {

/// Where the log ends and what the next group must continue.
struct LogEnd {
  std::uint64_t next_sequence = 1;
  std::uint64_t next_group = 1;
  std::uint32_t previous_crc = 0;
  std::uint64_t next_segment = 1;
};

/// Finds the segments in `files`, hands valid ones to `segments`, replays them from `from`, and
/// cuts what a crash left unfinished. Returns where to go on.
[[nodiscard]] Result<LogEnd> recover(FileSystem& files, Segments& segments,
                                     const std::optional<JournalPosition>& from,
                                     const Journal::Visitor& visit, RecoveryReport& report,
                                     bool read_only = false);

/// So much of what is cut off is looked at and copied.
inline constexpr std::uint64_t largest_copy = 16U << 20U;

/// A segment that a newer program wrote is not for this one to judge.
[[nodiscard]] Error of_newer(const std::string& file, std::uint32_t version);

/// How long a group was to be that begins with these bytes of a segment, if one does: its magic
/// and epoch say so, or, should these be damaged, that it continues what ended `after`; or, should
/// its header be gone, one of its records, and then as far as that one.
[[nodiscard]] std::optional<std::uint64_t> begun_group(std::string_view bytes, std::uint64_t epoch,
                                                       const std::optional<LogEnd>& after) noexcept;

/// One group read from a segment, or why it is none.
struct ReadGroup {
  journal_format::GroupHeader header;
  std::string bytes;  // header and records; empty: nothing valid at this place
  [[nodiscard]] bool valid() const noexcept { return !bytes.empty(); }
};

/// Reads and verifies the group at `offset`: magic, epoch, every checksum.
[[nodiscard]] Result<ReadGroup> read_group(Segment& segment, std::uint64_t offset);

/// A valid group, and where it lies.
struct FoundGroup {
  std::uint64_t offset = 0;
  journal_format::GroupHeader header;
};

/// All valid groups of a segment behind some place.
struct GroupsBehind {
  std::optional<FoundGroup> first;
  std::uint64_t synced_below = 0;  // groups with smaller numbers are known to have been synced
  std::uint64_t records = 0;       // in all of them
  std::uint64_t end = 0;           // offset behind the last one
};
[[nodiscard]] Result<GroupsBehind> groups_behind(Segment& segment, std::uint64_t offset);

/// What became of a segment whose header is not its own.
enum class SegmentUse : std::uint8_t {
  unused,  // it was only readied, whatever earlier lives left in it
  used,    // it was written to in this life: a group says so, and its epoch
  ruined,  // nobody leaves a file like this: what was written to it is damaged, all of it
};
/// For `used`, its epoch is known afterwards.
[[nodiscard]] Result<SegmentUse> learn_use(Segment& segment);

/// The first valid group of this segment's epoch behind `offset`, if there is any.
[[nodiscard]] Result<std::optional<FoundGroup>> find_group_behind(Segment& segment,
                                                                  std::uint64_t offset);

}  // namespace dlo
