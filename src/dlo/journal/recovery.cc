#include "dlo/journal/recovery.h"

#include <algorithm>
#include <vector>

#include "dlo/journal/inspection.h"
#include "dlo/journal/salvage.h"
#include "dlo/journal/written_bytes.h"

namespace dlo {
namespace {

namespace format = journal_format;

constexpr std::size_t most_copies = 4;
constexpr char copy_prefix[] = "cut-";

constexpr char intact_behind[] = "What was written after it is intact";

Error corruption(const FileSystem& files, std::uint64_t segment, std::uint64_t offset,
                 const std::string& what, const std::string& why = intact_behind) {
  return Error{Code::corrupt, "journal.open",
               files.describe(segment_file(segment)) + " at byte " + std::to_string(offset) + ": " +
                   what + " " + why +
                   ", so this is damage, not an unfinished write. Nothing was changed. Restore the "
                   "file from a backup if there is one; or run 'dlo queue repair', which says "
                   "which messages are affected and, with --yes, sets the damaged bytes aside so "
                   "that all the rest can go on."};
}

Error ruined(const FileSystem& files, std::uint64_t segment) {
  return corruption(files, segment, 0, "The segment header is damaged, and so is the rest.",
                    "Headers are synced before anything else is written");
}

Error missing(const FileSystem& files, std::uint64_t segment) {
  return Error{Code::corrupt, "journal.open",
               files.describe(segment_file(segment)) +
                   " is missing, and what was written to it is needed. Nothing was changed. "
                   "Restore the file from a backup if there is one; or run 'dlo queue repair', "
                   "which says what is affected and, with --yes, goes on with the rest."};
}

/// Walks the segments in order and hands records to the visitor.
class Walk {
 public:
  Walk(FileSystem& files, Segments& segments, const std::optional<JournalPosition>& from,
       const Journal::Visitor& visit, RecoveryReport& report, bool read_only)
      : files_(files),
        segments_(segments),
        from_(from),
        visit_(visit),
        report_(report),
        read_only_(read_only) {}

  Result<LogEnd> run();

 private:
  Result<void> adopt_files();
  Result<void> look_at(const std::string& name, std::uint64_t number);
  Result<void> drop_unwritten();
  Result<void> walk(Segment& segment, bool last);
  Result<void> replay(const ReadGroup& group, Segment& segment, std::uint64_t offset);
  Result<void> at_damage(Segment& segment, std::uint64_t offset, bool last);
  Result<void> cut_off(Segment& segment, std::uint64_t offset, const GroupsBehind& behind);
  Result<void> end_log(Segment& segment, std::uint64_t offset);
  void report_cut(Segment& segment, std::uint64_t offset, std::uint64_t size,
                  std::uint64_t records);
  Result<void> only_zeros_behind(Segment& segment, std::uint64_t offset, bool last);
  std::string keep_copy(Segment& segment, std::uint64_t offset);
  [[nodiscard]] bool continues(const format::GroupHeader& header) const noexcept;

  FileSystem& files_;
  Segments& segments_;
  const std::optional<JournalPosition>& from_;
  const Journal::Visitor& visit_;
  RecoveryReport& report_;
  bool read_only_;
  LogEnd end_;
  std::vector<std::uint64_t> unwritten_;
  bool chained_ = false;  // the group before is known, so the next must continue it
  bool cut_ = false;
};

Result<void> Walk::look_at(const std::string& name, std::uint64_t number) {
  auto file = files_.open(name, read_only_ ? OpenMode::read_only : OpenMode::read_write);
  if (!file) return file.error();
  auto segment = std::make_shared<Segment>();
  segment->number = segment->epoch = number;
  segment->file = std::move(*file);
  const auto size = segment->file->size();
  if (!size) return size.error();
  segment->size = *size;
  std::string head(format::segment_header_size, '\0');
  const auto got = segment->file->read_at(0, head.data(), head.size());
  if (!got) return got.error();
  head.resize(*got);
  if (const auto newer = format::newer_version(head)) {
    return of_newer(files_.describe(name), *newer);
  }
  const auto header = format::decode_segment(head);
  if (header && header->number == number) {
    segment->epoch = header->epoch();
    segments_.adopt(std::move(segment));
    return {};
  }
  const auto use = learn_use(*segment);
  if (!use) return use.error();
  if (*use == SegmentUse::used) {
    return corruption(files_, number, 0, "The segment header is damaged.");
  }
  if (*use == SegmentUse::ruined) return ruined(files_, number);
  unwritten_.push_back(number);
  return {};
}

/// Readied or recycled, but never written in this life: that can only be the last ones. Of any
/// other the bytes are all that is left, so they stay.
Result<void> Walk::drop_unwritten() {
  const auto numbers = segments_.numbers();
  const auto needed = std::max(numbers.empty() ? 0 : numbers.back(), from_ ? from_->segment : 0);
  for (const auto number : unwritten_) {
    if (number <= needed) {
      return ruined(files_, number);
    }
    if (read_only_) continue;
    const std::string spare = "spare-" + segment_file(number);
    if (const auto renamed = files_.rename(segment_file(number), spare); !renamed) return renamed;
    (void)files_.remove(spare);  // its length is unknown: not worth keeping
  }
  return {};
}

Result<void> Walk::adopt_files() {
  const auto names = files_.list();
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (name.starts_with("spare-") && !read_only_) (void)files_.remove(name);
    const auto number = segment_number(name);
    if (!number) continue;
    const auto looked = look_at(name, *number);
    if (!looked) return looked;
  }
  return drop_unwritten();
}

bool Walk::continues(const format::GroupHeader& header) const noexcept {
  if (!chained_) return true;
  return header.group == end_.next_group && header.first_sequence == end_.next_sequence &&
         header.previous_crc == end_.previous_crc;
}

Result<void> Walk::replay(const ReadGroup& group, Segment& segment, std::uint64_t offset) {
  std::size_t at = format::group_header_size;
  for (std::uint32_t i = 0; i < group.header.records; ++i) {
    const auto record = format::decode_record(group.bytes.data() + at);
    const std::uint64_t sequence = group.header.first_sequence + i;
    const std::string_view body =
        std::string_view(group.bytes).substr(at + format::record_header_size, record.size);
    report_.clean = record.type == format::seal_type;
    const bool wanted = !from_ || sequence >= from_->sequence;
    if (record.type != format::seal_type && wanted) {
      ++report_.records;
      const Location location{static_cast<std::uint32_t>(segment.number),
                              static_cast<std::uint32_t>(offset + at)};
      const auto seen = visit_(Entry{sequence, record.type, body, location});
      if (!seen) return seen;
    }
    at += format::record_header_size + record.size;
  }
  end_.next_sequence = group.header.first_sequence + group.header.records;
  end_.next_group = group.header.group + 1;
  end_.previous_crc = group.header.crc;
  chained_ = true;
  return {};
}

/// Nothing valid at `offset`: the end of the segment, the end of the log, a write that a crash
/// interrupted, or damage. Only the last is an error.
Result<void> Walk::at_damage(Segment& segment, std::uint64_t offset, bool last) {
  const auto behind = groups_behind(segment, offset);
  if (!behind) return behind.error();
  // Later groups say how far back the unsynced part began when they were written.
  if (behind->first && (!last || end_.next_group < behind->synced_below)) {
    const FoundGroup& next = *behind->first;
    return corruption(files_, segment.number, offset,
                      "A group of records is damaged: " + std::to_string(next.offset - offset) +
                          " bytes with records " + std::to_string(end_.next_sequence) + " to " +
                          std::to_string(next.header.first_sequence - 1) + ".");
  }
  // Behind a seal the file ends with the second one; without that it was never written.
  const bool was_sealed = report_.clean && segment.size - offset == format::second_seal_size;
  if (!last || was_sealed) return only_zeros_behind(segment, offset, last);
  return cut_off(segment, offset, *behind);
}

/// The log ends here, and `behind` goes with what is damaged: nobody knows that it was synced.
Result<void> Walk::cut_off(Segment& segment, std::uint64_t offset, const GroupsBehind& behind) {
  std::string rest(std::min<std::uint64_t>(segment.size - offset, largest_copy), '\0');
  const auto got = segment.file->read_at(offset, rest.data(), rest.size());
  if (!got) return got.error();
  rest.resize(rest.find_last_not_of('\0') + 1);
  const auto end = chained_ ? std::optional(end_) : std::nullopt;
  const auto begun = begun_group(rest, segment.epoch, end);
  if (begun || behind.first) {
    const auto known = std::max(behind.end, offset + begun.value_or(0));
    report_cut(segment, offset, std::min(known, segment.size.load()) - offset, behind.records);
  }
  return end_log(segment, offset);
}

void Walk::report_cut(Segment& segment, std::uint64_t offset, std::uint64_t size,
                      std::uint64_t records) {
  cut_ = true;
  report_.cut_file = files_.describe(segment_file(segment.number));
  report_.cut_offset = offset;
  report_.cut_bytes = size;
  report_.cut_records = records;
  if (!read_only_) report_.cut_copy = keep_copy(segment, offset);
}

Result<void> Walk::end_log(Segment& segment, std::uint64_t offset) {
  if (read_only_ || offset == segment.size) return {};
  // Whatever lies behind the end must never be taken for a part of the log later on.
  auto done = segment.file->truncate(offset);
  if (done) done = segment.file->sync();
  if (done) segment.size = offset;
  return done;
}

/// What is cut off may be all that is left of something that was acknowledged and damaged later, so
/// a copy stays. A disk without room for it is no reason not to go on.
std::string Walk::keep_copy(Segment& segment, std::uint64_t offset) {
  std::string bytes(std::min<std::uint64_t>(segment.size - offset, largest_copy), '\0');
  const auto got = segment.file->read_at(offset, bytes.data(), bytes.size());
  if (!got) return {};
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  std::vector<std::string> copies;
  if (const auto names = files_.list()) {
    for (const std::string& name : *names) {
      if (name.starts_with(copy_prefix)) copies.push_back(name);
    }
  }
  for (std::size_t i = 0; i + most_copies <= copies.size(); ++i) (void)files_.remove(copies[i]);
  const std::string name = copy_prefix + segment_file(segment.number) + "-" +
                           std::to_string(offset) + "-" + std::to_string(bytes.size());
  (void)files_.remove(name);  // of an attempt that a crash ended
  auto file = files_.open(name, OpenMode::create);
  if (!file) return {};
  auto done = (*file)->write_at(0, bytes);
  if (done) done = (*file)->sync();
  if (done) done = files_.sync_names();
  return done ? files_.describe(name) : std::string();
}

/// Appending zeroes what it leaves of a segment, so anything else there is damage, but for a seal
/// that was being written.
Result<void> Walk::only_zeros_behind(Segment& segment, std::uint64_t offset, bool last) {
  const auto written = written_bytes(segment, offset, segment.size);
  if (!written) return written.error();
  if (!*written) return {};
  std::string rest(std::min<std::uint64_t>(segment.size - offset, largest_copy), '\0');
  const auto got = segment.file->read_at(offset, rest.data(), rest.size());
  if (!got) return got.error();
  if (last && is_torn_seal(rest, segment.epoch, end_)) {
    report_cut(segment, offset, (*written)->end - offset, 0);
    return end_log(segment, offset);
  }
  return corruption(files_, segment.number, (*written)->begin,
                    "There are bytes behind the last group.");
}

Result<void> Walk::walk(Segment& segment, bool last) {
  std::uint64_t offset = format::segment_header_size;
  if (from_ && from_->segment == segment.number) {
    offset = from_->offset;
    if (format::aligned(segment.size) < offset) {
      return corruption(files_, segment.number, segment.size,
                        "The file ends here, and was longer: records up to byte " +
                            std::to_string(offset) + " are missing.");
    }
  }
  while (offset + format::group_header_size <= segment.size) {
    auto group = read_group(segment, offset);
    if (!group) return group.error();
    if (!group->valid()) break;
    if (!continues(group->header)) {
      return corruption(files_, segment.number, offset,
                        "This group does not continue the one before it.");
    }
    const auto replayed = replay(*group, segment, offset);
    if (!replayed) return replayed;
    offset = format::aligned(offset + group->bytes.size());
  }
  return at_damage(segment, std::min(offset, segment.size.load()), last);
}

Result<LogEnd> Walk::run() {
  const auto adopted = adopt_files();
  if (!adopted) return adopted.error();
  auto numbers = segments_.numbers();
  if (from_) {
    std::erase_if(numbers, [&](std::uint64_t number) { return number < from_->segment; });
    end_.next_sequence = from_->sequence;
    end_.next_group = from_->group;
    end_.previous_crc = from_->previous_crc;
    chained_ = true;  // what follows must continue what the owner has
    const auto gone = missing_segments(files_, from_->segment, true);
    if (!gone) return gone.error();
    if (!gone->empty()) return missing(files_, gone->front().first);
  }
  std::uint64_t before = 0;
  for (const std::uint64_t number : numbers) {
    // Segments emptied in between are gone: the chain is only checked between neighbours.
    if (before != 0 && number != before + 1) chained_ = false;
    const auto walked = walk(*segments_.find(number), number == numbers.back());
    if (!walked) return walked.error();
    before = number;
    end_.next_segment = std::max(end_.next_segment, number + 1);
  }
  for (const std::uint64_t number : segments_.numbers()) {
    end_.next_segment = std::max(end_.next_segment, number + 1);
  }
  if (cut_) report_.clean = false;
  return end_;
}

}  // namespace

Error of_newer(const std::string& file, std::uint32_t version) {
  return Error{Code::refused, "journal.open",
               file + " has format version " + std::to_string(version) +
                   "; this program reads up to " + std::to_string(format::version) +
                   ". Use a newer dlo. Nothing was changed."};
}

std::optional<std::uint64_t> begun_group(std::string_view bytes, std::uint64_t epoch,
                                         const std::optional<LogEnd>& after) noexcept {
  const auto group = format::read_group_header(bytes);
  if (!group) return std::nullopt;
  const bool named = format::decode_group(bytes) && group->epoch == epoch;
  // What a recycled file still holds cannot go on where this log ended.
  const bool follows =
      after && group->group == after->next_group && group->previous_crc == after->previous_crc;
  if (named || follows) return format::group_header_size + group->size;
  const auto records = after ? goes_on_without_header(bytes, after->next_sequence).end : 0;
  return records > 0 ? std::optional<std::uint64_t>(records) : std::nullopt;
}

Result<LogEnd> recover(FileSystem& files, Segments& segments,
                       const std::optional<JournalPosition>& from, const Journal::Visitor& visit,
                       RecoveryReport& report, bool read_only) {
  return Walk(files, segments, from, visit, report, read_only).run();
}

}  // namespace dlo
