#include <algorithm>
#include <cstring>

#include "dlo/journal/crc32c.h"
#include "dlo/journal/recovery.h"
#include "dlo/journal/written_bytes.h"

namespace dlo {
namespace {

namespace format = journal_format;

/// True if every record of the group is whole and unchanged and the group's checksum holds.
bool verifies(const format::GroupHeader& header, std::string_view bytes) noexcept {
  const std::size_t end = format::group_header_size + header.size;
  std::size_t at = format::group_header_size;
  std::uint32_t headers_crc = 0;
  for (std::uint32_t i = 0; i < header.records; ++i) {
    if (end - at < format::record_header_size) return false;
    const auto record = format::decode_record(bytes.data() + at);
    headers_crc = crc32c(headers_crc, bytes.substr(at, format::record_header_size));
    at += format::record_header_size;
    if (end - at < record.size) return false;
    const std::uint32_t body = crc32c(0, bytes.substr(at, record.size));
    if (record.crc != format::record_crc(body, header.first_sequence + i, record.type)) {
      return false;
    }
    at += record.size;
  }
  return at == end && format::group_crc(headers_crc, bytes) == header.crc;
}

}  // namespace

Result<ReadGroup> read_group(Segment& segment, std::uint64_t offset) {
  ReadGroup group;
  std::string head(format::group_header_size, '\0');
  const auto got = segment.file->read_at(offset, head.data(), head.size());
  if (!got) return got.error();
  if (*got < head.size()) return group;
  const auto header = format::decode_group(head);
  if (!header || header->epoch != segment.epoch || header->records == 0) return group;
  if (offset + head.size() + header->size > segment.size) return group;
  // The padding up to the next group belongs to this one: a flip there is damage as well.
  const std::size_t padded = format::aligned(head.size() + header->size);
  std::string bytes(padded, '\0');
  const auto all = segment.file->read_at(offset, bytes.data(), bytes.size());
  if (!all) return all.error();
  const std::size_t padding = head.size() + header->size;
  if (*all < padding || bytes.find_first_not_of('\0', padding) != std::string::npos) return group;
  if (!verifies(*header, bytes)) return group;
  group.header = *header;
  group.bytes = std::move(bytes);
  return group;
}

namespace {

/// The first valid group behind `offset` whose epoch is one of those that are asked for.
template <typename Wanted>
Result<std::optional<FoundGroup>> find_group(Segment& segment, std::uint64_t offset,
                                             const Wanted& wanted) {
  std::optional<FoundGroup> found;
  const auto look = [&](std::uint64_t base, std::string_view bytes) -> Result<bool> {
    for (std::size_t at = 0; at < window_size && at + format::group_header_size <= bytes.size();
         at += format::group_alignment) {
      const auto header = format::decode_group(bytes.substr(at, format::group_header_size));
      if (!header || !wanted(header->epoch)) continue;
      auto whole = read_group(segment, base + at);
      if (!whole) return whole.error();
      if (!whole->valid()) continue;
      found = FoundGroup{base + at, whole->header};
      return false;
    }
    return true;
  };
  const auto looked =
      look_through(segment, format::aligned(offset), segment.size, format::group_header_size, look);
  if (!looked) return looked.error();
  return found;
}

}  // namespace

Result<std::optional<FoundGroup>> find_group_behind(Segment& segment, std::uint64_t offset) {
  return find_group(segment, offset, [&](std::uint64_t epoch) { return epoch == segment.epoch; });
}

Result<SegmentUse> learn_use(Segment& segment) {
  std::string first(format::group_header_size, '\0');
  const auto got = segment.file->read_at(format::segment_header_size, first.data(), first.size());
  if (!got) return got.error();
  const auto header = format::decode_group(std::string_view(first).substr(0, *got));
  // Where the first group lies no record ever does, so this is what an earlier life began with.
  if (header && !format::is_epoch_of(header->epoch, segment.number)) return SegmentUse::unused;
  const auto found = find_group(segment, 0, [&](std::uint64_t epoch) {
    if (!format::is_epoch_of(epoch, segment.number)) return false;
    segment.epoch = epoch;
    return true;
  });
  if (!found) return found.error();
  if (*found) return SegmentUse::used;
  segment.epoch = segment.number;
  // A header is synced before anything else is written. So where neither an earlier life has left
  // its first group nor the file is new and empty, there was one.
  const auto written = written_bytes(segment, format::segment_header_size, segment.size);
  if (!written) return written.error();
  return *written ? SegmentUse::ruined : SegmentUse::unused;
}

Result<GroupsBehind> groups_behind(Segment& segment, std::uint64_t offset) {
  GroupsBehind all;
  while (true) {
    // As a rule the next one lies right there, and nothing has to be searched for.
    auto next = std::optional(FoundGroup{format::aligned(offset), {}});
    auto here = read_group(segment, next->offset);
    if (!here) return here.error();
    if (here->valid()) {
      next->header = here->header;
    } else {
      auto found = find_group_behind(segment, offset);
      if (!found) return found.error();
      next = *found;
    }
    if (!next) return all;
    const format::GroupHeader& header = next->header;
    if (!all.first) all.first = *next;
    all.synced_below = std::max(all.synced_below, header.group - header.unsynced);
    all.records += header.records;
    offset = next->offset + format::group_header_size + header.size;
    all.end = offset;
  }
}

}  // namespace dlo
