#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlo::journal_format {

// The bytes on disk. FORMAT.md beside this file is the description; these are its constants.
// All numbers are little endian.

inline constexpr std::uint32_t version = 2;  // and 1 is read
inline constexpr std::size_t segment_header_size = 64;
inline constexpr std::size_t group_header_size = 48;
inline constexpr std::size_t record_header_size = 9;
inline constexpr std::size_t group_alignment = 16;
inline constexpr std::uint64_t longest_segment = UINT32_MAX;  // places in it have 32 bits

struct SegmentHeader {
  std::uint64_t number = 0;          // never used twice
  std::uint64_t first_sequence = 0;  // of the first record in it
  std::uint64_t first_group = 0;
  std::uint32_t previous_crc = 0;  // of the last group of the segment before
  std::uint32_t nonce = 0;         // of this life of the file; version 1 has none
  std::uint32_t version = journal_format::version;

  /// What all groups of this life carry. Half of it can be guessed by whoever chooses what is
  /// written; the other half cannot, so nothing that an earlier life wrote is taken for a group.
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return number ^ (std::uint64_t{nonce} << 32U);
  }
};
/// Whether groups of this epoch may belong to the segment, by the half that is known.
[[nodiscard]] constexpr bool is_epoch_of(std::uint64_t epoch, std::uint64_t segment) noexcept {
  return static_cast<std::uint32_t>(epoch) == static_cast<std::uint32_t>(segment);
}
[[nodiscard]] std::string encode(const SegmentHeader& header);
/// Empty if magic, version or checksum are wrong.
[[nodiscard]] std::optional<SegmentHeader> decode_segment(std::string_view bytes) noexcept;
/// The version of a whole header that this program cannot read yet. A damaged one is of none.
[[nodiscard]] std::optional<std::uint32_t> newer_version(std::string_view bytes) noexcept;

struct GroupHeader {
  std::uint32_t crc = 0;    // over every record header and the rest of this header
  std::uint64_t epoch = 0;  // of the segment it belongs to
  std::uint64_t group = 0;  // counts groups, without a gap
  std::uint64_t first_sequence = 0;
  std::uint32_t records = 0;
  std::uint32_t size = 0;          // bytes of records behind this header
  std::uint32_t previous_crc = 0;  // of the group before
  std::uint32_t unsynced = 0;      // how many groups before it were not known to be synced
};
/// Writes everything, `crc` included.
void encode(const GroupHeader& header, char* into) noexcept;
/// Fields as they stand; empty if there is no group magic here.
[[nodiscard]] std::optional<GroupHeader> decode_group(std::string_view bytes) noexcept;
/// The same without looking for the magic: what a damaged header says all the same.
[[nodiscard]] std::optional<GroupHeader> read_group_header(std::string_view bytes) noexcept;
/// The checksum a group must have, from that of its record headers (in order) and its header.
[[nodiscard]] std::uint32_t group_crc(std::uint32_t record_headers,
                                      std::string_view group_header) noexcept;

struct RecordHeader {
  std::uint32_t size = 0;
  std::uint32_t crc = 0;
  std::uint8_t type = 0;
};
void encode(const RecordHeader& header, char* into) noexcept;
[[nodiscard]] RecordHeader decode_record(const char* bytes) noexcept;
/// Covers body, sequence and type: a record cannot pass for another one. The body comes first so
/// that its part can be computed before the sequence is known.
[[nodiscard]] std::uint32_t record_crc(std::uint32_t body_crc, std::uint64_t sequence,
                                       std::uint8_t type) noexcept;

/// A clean stop ends with two seals. The second lies in one sector, of which a power cut leaves all
/// or one end, so the first is as long as it takes to get there. Behind the second the file ends.
inline constexpr std::uint8_t seal_type = 255;
inline constexpr std::uint64_t sector = 512;
inline constexpr std::uint64_t second_seal_size = 64;  // header, record and padding
static_assert(second_seal_size == (group_header_size + record_header_size + group_alignment - 1) /
                                      group_alignment * group_alignment);
/// Where the second one begins if the first begins at `offset`.
[[nodiscard]] constexpr std::uint64_t second_seal_at(std::uint64_t offset) noexcept {
  return (offset + second_seal_size + sector - 1) / sector * sector;
}

[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t offset) noexcept {
  return (offset + group_alignment - 1) / group_alignment * group_alignment;
}

}  // namespace dlo::journal_format
