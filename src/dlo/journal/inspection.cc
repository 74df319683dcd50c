#include "dlo/journal/inspection.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "dlo/journal/format.h"
#include "dlo/journal/log.h"
#include "dlo/journal/recovery.h"
#include "dlo/journal/salvage.h"
#include "dlo/journal/says_damage.h"
#include "dlo/journal/segments.h"
#include "dlo/journal/written_bytes.h"

namespace dlo {
namespace {

namespace format = journal_format;

JournalOptions without_threads() {
  JournalOptions options;
  options.prepare_ahead = false;
  return options;
}

bool lies_in(const std::vector<Damage>& places, const Location& at) noexcept {
  return std::any_of(places.begin(), places.end(), [&](const Damage& each) {
    return each.segment == at.segment && at.offset >= each.offset &&
           at.offset < each.offset + each.size;
  });
}

}  // namespace

std::string quarantine_file(const Damage& damage) {
  return "quarantine-" + segment_file(damage.segment) + "-" + std::to_string(damage.offset) + "-" +
         std::to_string(damage.size);
}

/// One pass over the segments.
class Inspection::Walk {
 public:
  using Lost = std::function<void(const LostRecords&)>;
  Walk(Inspection& to, const std::vector<std::string>& names, const Journal::Visitor& visit,
       const Lost& lost)
      : to_(to), names_(names.begin(), names.end()), visit_(visit), lost_(lost) {}

  Result<bool> is_used(Segment& segment);
  Result<void> segment(const SegmentPtr& segment, bool last);
  void note_header(const Segment& segment, std::string what);
  /// After the last one, which is number `last`.
  void finish(std::uint64_t last);

 private:
  Result<void> group(const ReadGroup& group, const Segment& segment, std::uint64_t offset);
  Result<std::uint64_t> at_damage(Segment& segment, std::uint64_t offset, bool last);
  [[nodiscard]] bool ends_here(std::uint64_t behind) const noexcept;
  Result<std::uint64_t> at_the_end(Segment& segment, std::uint64_t offset, bool last);
  Result<void> salvage_from(Segment& segment, std::uint64_t begin, std::uint64_t end);
  Result<void> show_unfinished(Segment& segment, std::uint64_t offset);
  Result<bool> held_seal(Segment& segment, std::uint64_t offset, const FoundGroup& next) const;
  Result<void> record(const Entry& entry);
  void expect(std::uint64_t sequence);
  void note(const Segment& segment, std::uint64_t offset, std::uint64_t size, std::string what,
            std::uint64_t over_from);

  Inspection& to_;
  std::set<std::string> names_;
  const Journal::Visitor& visit_;
  const Lost& lost_;
  std::uint64_t before_ = 0;  // number of the last segment
  std::optional<format::GroupHeader> last_group_;
  std::optional<std::uint64_t> expected_;            // sequence of the next record
  std::uint64_t unknown_end_ = 0;                    // damaged bytes behind the last whole group
  std::map<std::uint64_t, std::uint64_t> first_in_;  // ... of a segment, by its header
  std::set<std::uint64_t> ruined_;                   // of which nothing is whole
};

/// A repair copies the damaged bytes first and ends with a checkpoint, so the copy alone says
/// nothing. Damage is set aside once whoever opens the journal begins at `over_from` or further on.
void Inspection::Walk::note(const Segment& segment, std::uint64_t offset, std::uint64_t size,
                            std::string what, std::uint64_t over_from) {
  Damage damage{to_.files_.describe(segment_file(segment.number)), offset, size, std::move(what),
                segment.number};
  const auto& begin = to_.goes_on_from;
  const bool passed = begin && (begin->segment > segment.number ||
                                (begin->segment == segment.number && begin->offset >= over_from));
  const bool known = passed && names_.contains(quarantine_file(damage));
  (known ? to_.quarantined : to_.damages).push_back(std::move(damage));
}

/// Whoever opens the journal looks at every header, and a repair writes it anew: there is none that
/// was set aside and is still damaged.
void Inspection::Walk::note_header(const Segment& segment, std::string what) {
  to_.damages.push_back({to_.files_.describe(segment_file(segment.number)), 0,
                         format::segment_header_size, std::move(what), segment.number});
}

/// The next record is number `sequence`: what lies between is lost.
void Inspection::Walk::expect(std::uint64_t sequence) {
  if (lost_ && expected_ && sequence > *expected_) lost_({*expected_, sequence - 1, 0, {}, {}});
  expected_ = sequence;
}

Result<void> Inspection::Walk::record(const Entry& entry) {
  expect(entry.sequence);
  ++*expected_;
  to_.sealed = entry.type == format::seal_type;
  if (to_.sealed) return {};
  ++to_.records;
  to_.first_in_.try_emplace(entry.location.segment, entry.sequence);
  return visit_(entry);
}

Result<void> Inspection::Walk::group(const ReadGroup& group, const Segment& segment,
                                     std::uint64_t offset) {
  if (last_group_ && (group.header.group != last_group_->group + 1 ||
                      group.header.previous_crc != last_group_->crc)) {
    note(segment, offset, 0, "This group does not continue the one before it.",
         offset + group.bytes.size());
  }
  last_group_ = group.header;
  unknown_end_ = 0;
  ++to_.groups;
  std::size_t at = format::group_header_size;
  for (std::uint32_t i = 0; i < group.header.records; ++i) {
    const auto header = format::decode_record(group.bytes.data() + at);
    const auto body =
        std::string_view(group.bytes).substr(at + format::record_header_size, header.size);
    const Location location{static_cast<std::uint32_t>(segment.number),
                            static_cast<std::uint32_t>(offset + at)};
    const auto seen = record({group.header.first_sequence + i, header.type, body, location});
    if (!seen) return seen;
    at += format::record_header_size + header.size;
  }
  to_.end_position = {*expected_, segment.number, format::aligned(offset + group.bytes.size()),
                      group.header.group + 1, group.header.crc};
  return {};
}

Result<void> Inspection::Walk::salvage_from(Segment& segment, std::uint64_t begin,
                                            std::uint64_t end) {
  const auto found = salvage(segment, begin, end, expected_);
  if (!found) return found.error();
  for (const Salvaged& each : *found) {
    if (expected_ && each.sequence < *expected_) continue;
    if (each.whole) {
      const auto seen = record({each.sequence, each.type, each.body, each.location});
      if (!seen) return seen;
      continue;
    }
    expect(each.sequence);
    ++*expected_;
    if (!lost_) continue;
    lost_({each.sequence, each.sequence, each.type, each.location, each.body, each.outlined});
  }
  return {};
}

/// What can still be read of it is all there is if it was acknowledged, and damaged later.
Result<void> Inspection::Walk::show_unfinished(Segment& segment, std::uint64_t offset) {
  if (!to_.on_unfinished) return {};
  const auto found = salvage(segment, offset, segment.size, expected_);
  if (!found) return found.error();
  for (const Salvaged& each : *found) {
    if (!each.whole || each.type == format::seal_type) continue;
    to_.on_unfinished({each.sequence, each.type, each.body, each.location});
  }
  return {};
}

/// Whether no more was damaged than the first seal of a clean stop.
Result<bool> Inspection::Walk::held_seal(Segment& segment, std::uint64_t offset,
                                         const FoundGroup& next) const {
  if (!expected_ || *expected_ + 1 != next.header.first_sequence) return false;
  if (last_group_) return held_first_seal(segment, offset, next, last_group_->crc);
  // What came before it is not there any more. It says itself what that was, and so does the
  // header of a segment that begins with it.
  std::string head(format::group_header_size, '\0');
  const bool begins = offset == format::segment_header_size;
  for (const auto from : {offset, begins ? std::uint64_t{0} : offset}) {
    const auto got = segment.file->read_at(from, head.data(), head.size());
    if (!got) return got.error();
    const auto said = format::read_group_header(head);
    if (*got == head.size() && held_first_seal(segment, offset, next, said->previous_crc)) {
      return true;
    }
  }
  return false;
}

/// Where to go on: behind what is damaged, or the end of the segment.
Result<std::uint64_t> Inspection::Walk::at_damage(Segment& segment, std::uint64_t offset,
                                                  bool last) {
  const auto behind = groups_behind(segment, offset);
  if (!behind) return behind.error();
  if (behind->first) {
    const auto& next = *behind->first;
    // No sync is known that covers it or what is behind it: all of it is cut at the next opening.
    const bool unsynced = last && last_group_ && last_group_->group + 1 >= behind->synced_below;
    if (unsynced) {
      to_.unfinished += behind->end - offset;
      to_.unfinished_records += behind->records;
      const auto shown = show_unfinished(segment, offset);
      return shown ? Result<std::uint64_t>(segment.size.load()) : shown.error();
    }
    const auto seal = held_seal(segment, offset, next);
    if (!seal) return seal.error();
    note(segment, offset, next.offset - offset,
         *seal ? "A seal is damaged, and nothing else." : "A group of records is damaged.",
         next.offset);
    if (*seal) expected_ = next.header.first_sequence;
    const auto saved = *seal ? Result<void>{} : salvage_from(segment, offset, next.offset);
    if (!saved) return saved.error();
    last_group_.reset();
    return next.offset;
  }
  return at_the_end(segment, offset, last);
}

/// Whether a stop was clean and nothing can have been written behind it, though so many bytes are:
/// the seal is the second one, or the second is all that is missing.
bool Inspection::Walk::ends_here(std::uint64_t behind) const noexcept {
  const bool second = last_group_ && last_group_->size == format::record_header_size;
  return to_.sealed && (second || behind == format::second_seal_size);
}

/// Nothing whole follows in this segment.
Result<std::uint64_t> Inspection::Walk::at_the_end(Segment& segment, std::uint64_t offset,
                                                   bool last) {
  const auto written = written_bytes(segment, offset, segment.size);
  if (!written) return written.error();
  if (!*written) return segment.size.load();
  const auto [first, end] = **written;
  const std::uint64_t behind = segment.size - offset;
  std::string rest(std::min(behind, largest_copy), '\0');  // as much as opening looks at
  const auto got = segment.file->read_at(offset, rest.data(), rest.size());
  if (!got) return got.error();
  std::optional<LogEnd> after;
  if (last_group_)
    after = LogEnd{expected_.value_or(0), last_group_->group + 1, last_group_->crc, 0};
  if (last && after && is_torn_seal(rest, segment.epoch, *after)) {
    to_.unfinished += end - offset;
    return segment.size.load();
  }
  if (last && !ends_here(behind)) {
    const auto begun = begun_group(rest, segment.epoch, after);
    if (begun) to_.unfinished += std::min(*begun, behind);
    const auto shown = begun ? show_unfinished(segment, offset) : Result<void>{};
    return shown ? Result<std::uint64_t>(segment.size.load()) : shown.error();
  }
  // Of the last segment nothing is read that lies behind where the journal goes on.
  note(segment, first, end - first, "There are bytes behind the last group.",
       last ? offset : UINT64_MAX);
  unknown_end_ += end - first;
  // Not only up to its last byte: a record may end with zeros.
  const auto saved = salvage_from(segment, offset, segment.size);
  if (!saved) return saved.error();
  last_group_.reset();
  return segment.size.load();
}

/// Whether a segment was ever written to; one that was only readied holds nothing.
Result<bool> Inspection::Walk::is_used(Segment& segment) {
  std::string head(format::segment_header_size, '\0');
  const auto got = segment.file->read_at(0, head.data(), head.size());
  if (!got) return got.error();
  head.resize(*got);
  if (const auto newer = format::newer_version(head)) {
    return of_newer(to_.files_.describe(segment_file(segment.number)), *newer);
  }
  const auto header = format::decode_segment(head);
  if (header && header->number == segment.number) {
    segment.epoch = header->epoch();
    first_in_[segment.number] = header->first_sequence;
    return true;
  }
  const auto use = learn_use(segment);
  if (!use) return use.error();
  if (*use == SegmentUse::unused) return false;
  const bool ruined = *use == SegmentUse::ruined;
  if (ruined) ruined_.insert(segment.number);
  note_header(segment, ruined ? "The segment header is damaged, and so is the rest."
                              : "The segment header is damaged.");
  return true;
}

Result<void> Inspection::Walk::segment(const SegmentPtr& segment, bool last) {
  const bool ruined_end = last && ruined_.contains(segment->number);
  last = last && !ruined_end;  // it was no write that a crash interrupted
  if (before_ != 0 && segment->number != before_ + 1) last_group_.reset();
  before_ = segment->number;
  to_.sealed = false;  // a stop that was followed by a start says nothing of this one
  if (const auto& known = to_.goes_on_from; known && segment->number > known->segment) {
    expected_ = std::max(expected_.value_or(0), known->sequence);
  }
  if (const auto first = first_in_.find(segment->number); first != first_in_.end()) {
    if (!expected_ || first->second > *expected_) expect(first->second);
  }
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
  if (offset < segment->size) {
    const auto end = at_the_end(*segment, offset, last);  // too short for a group
    if (!end) return end.error();
  }
  if (!ruined_end) return {};
  if (!expected_) expected_ = 1;
  expect(*expected_ + 1);  // one is lost at least, and nobody knows how many more
  return {};
}

void Inspection::Walk::finish(std::uint64_t last) {
  JournalPosition& end = to_.end_position;
  // A number that was given to somebody must not be given again: there may have been as many
  // records in the damaged end as fit.
  end.sequence =
      std::max(end.sequence, expected_.value_or(1)) + unknown_end_ / format::record_header_size;
  end.group = std::max<std::uint64_t>(end.group, 1);  // groups are counted from one
  if (last > end.segment) {                           // nothing of it is whole
    end.segment = last;
    end.offset = format::segment_header_size;
  }
}

Inspection::Inspection(FileSystem& files)
    : files_(files), segments_(std::make_unique<Segments>(files, without_threads())) {}
Inspection::~Inspection() = default;

Result<void> Inspection::walk(const Journal::Visitor& visit,
                              const std::function<void(const LostRecords&)>& lost) {
  const auto names = files_.list();
  if (!names) return names.error();
  Walk walk(*this, *names, visit, lost);
  std::vector<SegmentPtr> all;
  std::vector<SegmentPtr> unwritten;
  for (const std::string& name : *names) {
    const auto number = segment_number(name);
    if (!number) continue;
    auto segment = std::make_shared<Segment>();
    segment->number = segment->epoch = *number;
    auto file = files_.open(name, OpenMode::read_only);
    if (!file) return file.error();
    segment->file = std::move(*file);
    const auto size = segment->file->size();
    if (!size) return size.error();
    segment->size = *size;
    const auto used = walk.is_used(*segment);
    if (!used) return used.error();
    (*used ? all : unwritten).push_back(segment);
    segments_->adopt(std::move(segment));
  }
  // Only the last ones can have been readied and never written.
  for (const SegmentPtr& segment : unwritten) {
    if (all.empty() || segment->number > all.back()->number) continue;
    walk.note_header(*segment, "The segment header is damaged, and so is the rest.");
    all.push_back(segment);
  }
  std::sort(all.begin(), all.end(),
            [](const SegmentPtr& a, const SegmentPtr& b) { return a->number < b->number; });
  for (const SegmentPtr& segment : all) {
    const auto walked = walk.segment(segment, segment == all.back());
    if (!walked) return walked;
  }
  if (!all.empty()) walk.finish(all.back()->number);
  return {};
}

std::uint64_t Inspection::first_in(std::uint64_t segment) const noexcept {
  const auto found = first_in_.find(segment);
  return found == first_in_.end() ? 0 : found->second;
}

std::uint64_t Inspection::epoch_of(std::uint64_t segment) const {
  const auto found = segments_->find(segment);
  return found ? found->epoch : segment;
}

bool Inspection::is_damaged(const Location& at) const noexcept {
  return is_set_aside(at) || lies_in(damages, at);
}

bool Inspection::is_set_aside(const Location& at) const noexcept {
  return lies_in(quarantined, at);
}

void Inspection::read(std::span<const Address> addresses, const Journal::Reader& each) {
  read_records(files_, *segments_, addresses,
               [&](std::size_t i, const Result<std::string_view>& record) {
                 if (!record && !says_damage(record.error())) unread = record.error();
                 each(i, record);
               });
}

}  // namespace dlo
