#include "dlo/journal/format.h"

#include <bit>
#include <cstring>

#include "dlo/journal/crc32c.h"

namespace dlo::journal_format {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the encoders below copy words as they are; a big-endian machine needs swaps");

constexpr std::string_view segment_magic = "DLOJSEGM";
constexpr std::uint32_t group_magic = 0x474F4C44U;  // "DLOG"

template <typename T>
void put(char* into, std::size_t at, T value) noexcept {
  std::memcpy(into + at, &value, sizeof value);
}
template <typename T>
T get(const char* from, std::size_t at) noexcept {
  T value{};
  std::memcpy(&value, from + at, sizeof value);
  return value;
}

/// From version 2 on it covers the version, too, so that damage cannot pass for a newer one.
std::uint32_t header_crc(std::string_view bytes, std::uint32_t of_version) noexcept {
  const auto crc = crc32c(0, bytes.substr(16, segment_header_size - 16));
  return of_version == 1 ? crc : crc32c(crc, bytes.substr(8, 4));
}

/// What a file claims, if it is a segment at all.
std::optional<std::uint32_t> claimed_version(std::string_view bytes) noexcept {
  if (bytes.size() < segment_header_size) return std::nullopt;
  if (bytes.substr(0, segment_magic.size()) != segment_magic) return std::nullopt;
  return get<std::uint32_t>(bytes.data(), 8);
}

}  // namespace

std::string encode(const SegmentHeader& header) {
  std::string bytes(segment_header_size, '\0');
  std::memcpy(bytes.data(), segment_magic.data(), segment_magic.size());
  put(bytes.data(), 8, header.version);
  put(bytes.data(), 16, header.number);
  put(bytes.data(), 24, header.first_sequence);
  put(bytes.data(), 32, header.first_group);
  put(bytes.data(), 40, header.previous_crc);
  put(bytes.data(), 44, header.nonce);
  put(bytes.data(), 12, header_crc(bytes, header.version));
  return bytes;
}

std::optional<std::uint32_t> newer_version(std::string_view bytes) noexcept {
  const auto claimed = claimed_version(bytes);
  if (!claimed || *claimed <= version) return std::nullopt;
  const bool whole = get<std::uint32_t>(bytes.data(), 12) == header_crc(bytes, *claimed);
  return whole ? claimed : std::nullopt;
}

std::optional<SegmentHeader> decode_segment(std::string_view bytes) noexcept {
  const auto claimed = claimed_version(bytes);
  if (!claimed || *claimed == 0 || *claimed > version) return std::nullopt;
  if (get<std::uint32_t>(bytes.data(), 12) != header_crc(bytes, *claimed)) return std::nullopt;
  SegmentHeader header;
  header.version = *claimed;
  header.number = get<std::uint64_t>(bytes.data(), 16);
  header.first_sequence = get<std::uint64_t>(bytes.data(), 24);
  header.first_group = get<std::uint64_t>(bytes.data(), 32);
  header.previous_crc = get<std::uint32_t>(bytes.data(), 40);
  if (header.version > 1) header.nonce = get<std::uint32_t>(bytes.data(), 44);
  return header;
}

void encode(const GroupHeader& header, char* into) noexcept {
  put(into, 0, group_magic);
  put(into, 4, header.crc);
  put(into, 8, header.epoch);
  put(into, 16, header.group);
  put(into, 24, header.first_sequence);
  put(into, 32, header.records);
  put(into, 36, header.size);
  put(into, 40, header.previous_crc);
  put(into, 44, header.unsynced);
}

std::optional<GroupHeader> decode_group(std::string_view bytes) noexcept {
  if (bytes.size() < group_header_size) return std::nullopt;
  if (get<std::uint32_t>(bytes.data(), 0) != group_magic) return std::nullopt;
  return read_group_header(bytes);
}

std::optional<GroupHeader> read_group_header(std::string_view bytes) noexcept {
  if (bytes.size() < group_header_size) return std::nullopt;
  GroupHeader header;
  header.crc = get<std::uint32_t>(bytes.data(), 4);
  header.epoch = get<std::uint64_t>(bytes.data(), 8);
  header.group = get<std::uint64_t>(bytes.data(), 16);
  header.first_sequence = get<std::uint64_t>(bytes.data(), 24);
  header.records = get<std::uint32_t>(bytes.data(), 32);
  header.size = get<std::uint32_t>(bytes.data(), 36);
  header.previous_crc = get<std::uint32_t>(bytes.data(), 40);
  header.unsynced = get<std::uint32_t>(bytes.data(), 44);
  return header;
}

std::uint32_t group_crc(std::uint32_t record_headers, std::string_view group_header) noexcept {
  return crc32c(record_headers, group_header.substr(8, group_header_size - 8));
}

void encode(const RecordHeader& header, char* into) noexcept {
  put(into, 0, header.size);
  put(into, 4, header.crc);
  put(into, 8, header.type);
}

RecordHeader decode_record(const char* bytes) noexcept {
  return {get<std::uint32_t>(bytes, 0), get<std::uint32_t>(bytes, 4), get<std::uint8_t>(bytes, 8)};
}

std::uint32_t record_crc(std::uint32_t body_crc, std::uint64_t sequence,
                         std::uint8_t type) noexcept {
  char suffix[9];
  put(suffix, 0, sequence);
  put(suffix, 8, type);
  return crc32c(body_crc, std::string_view(suffix, sizeof suffix));
}

}  // namespace dlo::journal_format
