#include "dlo/journal/inspection.h"

#include <algorithm>
#include <optional>

#include "dlo/journal/format.h"
#include "dlo/journal/log.h"
#include "dlo/journal/recovery.h"
#include "dlo/journal/segments.h"

namespace dlo {
namespace {

namespace format = journal_format;
constexpr std::uint8_t seal_type = 255;

JournalOptions without_threads() {
  JournalOptions options;
  options.prepare_ahead = false;
  return options;
}

}  // namespace

/// One pass over the segments.
class Inspection::Walk {
 public:
  Walk(Inspection& to, const Journal::Visitor& visit) : to_(to), visit_(visit) {}

  Result<bool> is_used(Segment& segment);
  Result<void> segment(const SegmentPtr& segment, bool last);

 private:
  Result<void> group(const ReadGroup& group, const Segment& segment, std::uint64_t offset);
  Result<std::uint64_t> at_damage(Segment& segment, std::uint64_t offset, bool last);
  void note(std::uint64_t number, std::uint64_t offset, std::uint64_t size, std::string what) {
    to_.damages.push_back(
        {to_.files_.describe(segment_file(number)), offset, size, std::move(what)});
  }

  Inspection& to_;
  const Journal::Visitor& visit_;
  std::uint64_t before_ = 0;  // number of the last segment
  std::optional<format::GroupHeader> last_group_;
};

Result<void> Inspection::Walk::group(const ReadGroup& group, const Segment& segment,
                                     std::uint64_t offset) {
  if (last_group_ && (group.header.group != last_group_->group + 1 ||
                      group.header.previous_crc != last_group_->crc)) {
    note(segment.number, offset, 0, "This group does not continue the one before it.");
  }
  last_group_ = group.header;
  ++to_.groups;
  std::size_t at = format::group_header_size;
  for (std::uint32_t i = 0; i < group.header.records; ++i) {
    const auto record = format::decode_record(group.bytes.data() + at);
    to_.sealed = record.type == seal_type;
    const auto body =
        std::string_view(group.bytes).substr(at + format::record_header_size, record.size);
    if (record.type != seal_type) {
      ++to_.records;
      const Location location{static_cast<std::uint32_t>(segment.number),
                              static_cast<std::uint32_t>(offset + at)};
      const auto seen = visit_({group.header.first_sequence + i, record.type, body, location});
      if (!seen) return seen;
    }
    at += format::record_header_size + record.size;
  }
  return {};
}

/// Where to go on: behind what is damaged, or the end of the segment.
Result<std::uint64_t> Inspection::Walk::at_damage(Segment& segment, std::uint64_t offset,
                                                  bool last) {
  const auto behind = find_group_behind(segment, offset);
  if (!behind) return behind.error();
  if (*behind) {
    const auto& next = **behind;
    const auto synced = synced_below(segment, offset);
    if (!synced) return synced.error();
    const bool unsynced = last && last_group_ && last_group_->group + 1 >= *synced;
    if (unsynced) {
      to_.unfinished += next.offset - offset;
    } else {
      note(segment.number, offset, next.offset - offset, "A group of records is damaged.");
    }
    last_group_.reset();
    return next.offset;
  }
  std::string rest(segment.size - offset, '\0');
  const auto got = segment.file->read_at(offset, rest.data(), rest.size());
  if (!got) return got.error();
  const auto at = rest.find_first_not_of('\0');
  if (at == std::string::npos) return segment.size;
  const auto end = rest.find_last_not_of('\0') + 1;
  if (last && !to_.sealed) {
    const auto begun = format::decode_group(rest);
    if (begun && begun->epoch == segment.number)
      to_.unfinished += format::group_header_size + begun->size;
    return segment.size;
  }
  note(segment.number, offset + at, end - at, "There are bytes behind the last group.");
  return segment.size;
}

/// Whether a segment was ever written to; one that was only readied holds nothing.
Result<bool> Inspection::Walk::is_used(Segment& segment) {
  std::string head(format::segment_header_size, '\0');
  const auto got = segment.file->read_at(0, head.data(), head.size());
  if (!got) return got.error();
  const auto header = format::decode_segment(head);
  if (header && header->number == segment.number) return true;
  const auto behind = find_group_behind(segment, 0);
  if (!behind) return behind.error();
  if (!*behind) return false;
  note(segment.number, 0, format::segment_header_size, "The segment header is damaged.");
  return true;
}

Result<void> Inspection::Walk::segment(const SegmentPtr& segment, bool last) {
  if (before_ != 0 && segment->number != before_ + 1) last_group_.reset();
  before_ = segment->number;
  ++to_.segments;
  to_.bytes += segment->size;
  std::uint64_t offset = format::segment_header_size;
  while (offset + format::group_header_size <= segment->size) {
    auto next = read_group(*segment, offset);
    if (!next) return next.error();
    if (next->valid()) {
      if (const auto seen = group(*next, *segment, offset); !seen) return seen;
      offset = format::aligned(offset + next->bytes.size());
      continue;
    }
    const auto further = at_damage(*segment, offset, last);
    if (!further) return further.error();
    offset = *further;
  }
  return {};
}

Inspection::Inspection(FileSystem& files)
    : files_(files), segments_(std::make_unique<Segments>(files, without_threads())) {}
Inspection::~Inspection() = default;

Result<void> Inspection::walk(const Journal::Visitor& visit) {
  const auto names = files_.list();
  if (!names) return names.error();
  Walk walk(*this, visit);
  std::vector<SegmentPtr> all;
  for (const std::string& name : *names) {
    const auto number = segment_number(name);
    if (!number) continue;
    auto segment = std::make_shared<Segment>();
    segment->number = *number;
    auto file = files_.open(name, OpenMode::read_only);
    if (!file) return file.error();
    segment->file = std::move(*file);
    const auto size = segment->file->size();
    if (!size) return size.error();
    segment->size = *size;
    const auto used = walk.is_used(*segment);
    if (!used) return used.error();
    if (*used) all.push_back(segment);
    segments_->adopt(std::move(segment));
  }
  for (const SegmentPtr& segment : all) {
    const auto walked = walk.segment(segment, segment == all.back());
    if (!walked) return walked;
  }
  return {};
}

void Inspection::read(std::span<const Address> addresses, const Journal::Reader& each) {
  read_records(files_, *segments_, addresses, each);
}

}  // namespace dlo
