#include "dlo/broker/embedded/repair.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "dlo/broker/embedded/broken_list.h"
#include "dlo/broker/embedded/checkpoint.h"
#include "dlo/broker/embedded/mend.h"
#include "dlo/broker/embedded/message_check.h"
#include "dlo/journal/format.h"

namespace dlo {
namespace {

using namespace embedded;

constexpr char checkpoint_file[] = "checkpoint";

class Repair {
 public:
  Repair(FileSystem& files, TimePoint now)
      : files_(files), now_(now), holdings_(std::make_unique<Holdings>()), journal_(files) {}

  Result<void> look();
  Result<void> carry_out();
  QueueRepair report;

 private:
  Result<void> load();
  Result<void> read_back();
  void name_messages(const Mend& mend, const BrokenList& told);
  void remember_id(const LostRecords& lost);
  [[nodiscard]] QueueRepair::Message message_in(SlotNumber slot);
  [[nodiscard]] std::string place(const Location& location) const {
    return files_.describe(segment_file(location.segment)) + " at byte " +
           std::to_string(location.offset);
  }
  Result<void> copy_aside(const Damage& damage);
  Result<void> write_new(const std::string& name, std::string_view bytes);
  Result<void> copy_new(const std::string& name, File& from, std::uint64_t offset,
                        std::uint64_t size);
  Result<void> write_header(std::uint64_t segment, OpenMode mode);
  Result<void> mend_headers();
  Result<void> write_checkpoint();

  FileSystem& files_;
  TimePoint now_;
  std::unique_ptr<Holdings> holdings_;
  Inspection journal_;
  std::uint64_t from_ = 0;  // sequence from which reading back begins
  std::uint64_t from_group_ = 1;
  std::uint64_t needed_ = 1;  // ... and segment
  bool has_checkpoint_ = false;
  bool needed_is_missing_ = false;
  bool damaged_checkpoint_ = false;
  bool in_doubt_ = false;
  std::uint64_t incarnation_ = 0;
  std::map<std::uint64_t, std::string> ids_;  // of damaged publications, by sequence
  std::vector<Address> broken_;               // where messages should be that cannot be read
};

/// The checkpoint if it is whole; else the names of the queues if these are.
Result<void> Repair::load() {
  const auto loaded = load_checkpoint(files_, *holdings_);
  if (!loaded && loaded.error().code != Code::corrupt) return loaded.error();
  if (loaded && *loaded) {
    has_checkpoint_ = true;
    from_ = (*loaded)->position.sequence;
    from_group_ = (*loaded)->position.group;
    needed_ = (*loaded)->position.segment;
    incarnation_ = (*loaded)->incarnation;
    journal_.goes_on_from = (*loaded)->position;
    auto cut = cut_short(files_, (*loaded)->position);
    if (!cut) return cut.error();
    if (*cut) report.damages.push_back(std::move(**cut));
    return {};
  }
  if (loaded) return {};
  holdings_ = std::make_unique<Holdings>();
  incarnation_ = load_settings(files_, *holdings_).value_or(0);
  in_doubt_ = damaged_checkpoint_ = true;
  report.damages.push_back(
      {files_.describe(checkpoint_file), 0, 0, "The checkpoint is damaged.", 0});
  report.notes.push_back(
      "The checkpoint is damaged. Everything the segments hold that is not known to be gone is "
      "delivered again, also what was completed long ago; totals begin anew. Records that are "
      "missing between segments may have been removed in good order.");
  return {};
}

Result<void> Repair::look() {
  if (const auto loaded = load(); !loaded) return loaded;
  const auto gone = missing_segments(files_, needed_, has_checkpoint_);
  if (!gone) return gone.error();
  // Segments that nobody needs any more are gone in good order: only a checkpoint tells.
  if (!has_checkpoint_ && !in_doubt_ && !gone->empty()) {
    in_doubt_ = true;
    report.damages.push_back({files_.describe(checkpoint_file), 0, 0,
                              "There is no checkpoint, and segments before or between those that "
                              "are there are gone.",
                              0});
  }
  needed_is_missing_ = !gone->empty() && gone->front().first == needed_;
  for (const MissingSegments& each : *gone) {
    if (has_checkpoint_) report.damages.push_back(describe_missing(files_, each));
  }
  return read_back();
}

/// The names in damaged bytes are better than none.
void Repair::remember_id(const LostRecords& lost) {
  const auto stored = decode_published(lost.body);
  const auto message = stored ? decode_message(*stored) : nullptr;
  if (message) ids_[lost.first] = message->id;
}

Result<void> Repair::read_back() {
  Mend mend(*holdings_, journal_);
  if (in_doubt_ && from_ == 0) mend.begin_in_doubt();
  const auto walked = journal_.walk(
      [&](const Entry& entry) -> Result<void> {
        return entry.sequence < from_ ? Result<void>{} : mend.apply(entry);
      },
      [&](const LostRecords& lost) {
        remember_id(lost);
        auto needed = lost;
        needed.first = std::max(needed.first, from_);
        if (needed.last >= needed.first) mend.lose(needed);
      });
  if (!walked) return walked;
  JournalPosition& end = journal_.end_position;
  // What had these numbers may have been cut off: they are not given again. Groups are: a gap in
  // their numbers, or a checksum of one that is gone, would be damage to whoever looks next.
  end.sequence = std::max(end.sequence, from_);
  if (journal_.groups == 0) end.group = std::max(end.group, from_group_);
  if (has_checkpoint_ && end.segment < needed_) {
    // The segment that reading back begins with is gone, and nobody knows how much was in it.
    constexpr std::uint64_t as_much_as_fits = 1U << 24U;
    mend.lose({from_, from_, 0, {}, {}});
    if (!needed_is_missing_) {  // it is there, but nothing in it is whole
      report.damages.push_back({files_.describe(segment_file(needed_)), 0,
                                journal_format::segment_header_size,
                                "The segment is damaged from its header on.", needed_});
    }
    end.segment = needed_;
    end.offset = journal_format::segment_header_size;
    end.sequence = std::max(end.sequence, from_) + as_much_as_fits;
  }
  mend.finish();
  if (mend.incarnation != 0) incarnation_ = mend.incarnation;
  report.damages.insert(report.damages.end(), journal_.damages.begin(), journal_.damages.end());
  report.unknown_records = mend.unknown_records;
  report.notes.insert(report.notes.end(), mend.notes.begin(), mend.notes.end());
  if (report.damages.empty() && !mend.notes.empty()) {
    report.damages.push_back({files_.describe(""), 0, 0, mend.notes.front(), 0});
  }
  for (const auto& [queue, key] : mend.freed_keys) {
    const std::string which = key.empty() ? "A key nobody waits for" : "Key \"" + key + "\"";
    report.notes.push_back(which + " of queue \"" + queue +
                           "\" was held and may have been freed in a lost record: it is free now.");
  }
  const auto told = BrokenList::read(files_);
  if (!told) return told.error();
  name_messages(mend, *told);
  return journal_.unread ? not_given(*journal_.unread) : Result<void>{};
}

QueueRepair::Message Repair::message_in(SlotNumber slot) {
  QueueRepair::Message out;
  out.queue = holdings_->queue_of(slot).options().source;
  Address at = holdings_->address_of(slot);
  const auto read = [&](const auto& use) {
    journal_.read({&at, 1}, [&](std::size_t, const Result<std::string_view>& record) {
      if (record) return use(*record);
      if (const auto known = ids_.find(at.sequence); known != ids_.end()) out.id = known->second;
    });
  };
  if (holdings_->slots()[slot].has_state) {
    std::optional<Address> body;
    read([&](std::string_view record) {
      if (const auto state = decode_state(record)) body = state->body;
    });
    at = body.value_or(at);
  }
  read([&](std::string_view record) {
    const auto stored = decode_published(record);
    const auto message = stored ? decode_message(*stored) : nullptr;
    if (message) out.id = message->id;
  });
  out.where = place(at.location);
  return out;
}

void Repair::name_messages(const Mend& mend, const BrokenList& told) {
  for (const Mend::LostMessage& each : mend.lost_messages) {
    report.lost.push_back({each.queue, each.id, place(each.location)});
  }
  QueueCheck check;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::size_t>>
      news;  // first offset, and how many
  for (const Unreadable& each : check_messages(*holdings_, journal_, told, check)) {
    report.damaged.push_back(message_in(each.slot));
    broken_.push_back(each.at);
    if (each.known) continue;
    const Location& at = each.at.location;
    auto& [offset, count] = news.try_emplace(at.segment, at.offset, 0).first->second;
    offset = std::min(offset, at.offset);
    ++count;
  }
  report.queues = check.queues;
  // That a file is gone, or its end, may show in nothing else.
  if (!report.damages.empty()) news.clear();
  for (const auto& [segment, what] : news) {
    report.damages.push_back(
        {files_.describe(segment_file(segment)), what.first, 0,
         std::to_string(what.second) + " messages lay here or behind it and cannot be read.", 0});
  }
  report.doubtful_count = mend.doubtful.size();
  for (const auto slot : mend.doubtful) {
    if (report.doubtful.size() == QueueRepair::listed) break;
    report.doubtful.push_back(message_in(slot));
  }
}

Result<void> Repair::write_new(const std::string& name, std::string_view bytes) {
  (void)files_.remove(name);  // of a repair that a crash ended
  auto file = files_.open(name, OpenMode::create);
  if (!file) return file.error();
  auto done = (*file)->write_at(0, bytes);
  if (done) done = (*file)->sync();
  if (done) report.set_aside.push_back(files_.describe(name));
  return done;
}

/// A piece at a time, and zeros stay a hole: what lies between two damaged bytes may be long.
Result<void> Repair::copy_new(const std::string& name, File& from, std::uint64_t offset,
                              std::uint64_t size) {
  constexpr std::uint64_t piece = 1U << 20U;
  (void)files_.remove(name);  // of a repair that a crash ended
  auto file = files_.open(name, OpenMode::create);
  if (!file) return file.error();
  auto done = (*file)->truncate(size);
  for (std::uint64_t at = 0; done && at < size; at += piece) {
    std::string bytes(std::min(piece, size - at), '\0');
    const auto got = from.read_at(offset + at, bytes.data(), bytes.size());
    if (!got) return got.error();
    bytes.resize(*got);
    if (bytes.find_first_not_of('\0') == std::string::npos) continue;
    done = (*file)->write_at(at, bytes);
  }
  if (done) done = (*file)->sync();
  if (done) report.set_aside.push_back(files_.describe(name));
  return done;
}

Result<void> Repair::copy_aside(const Damage& damage) {
  const bool checkpoint = damaged_checkpoint_ && damage.file == files_.describe(checkpoint_file);
  if (damage.segment == 0 && !checkpoint) return {};  // a file that is missing
  const std::string from = checkpoint ? checkpoint_file : segment_file(damage.segment);
  auto file = files_.open(from, OpenMode::read_only);
  if (!file) return file.error();
  const auto size = checkpoint ? (*file)->size() : Result<std::uint64_t>(damage.size);
  if (!size) return size.error();
  return copy_new(checkpoint
                      ? "quarantine-checkpoint-" + std::to_string(now_.time_since_epoch().count())
                      : quarantine_file(damage),
                  **file, damage.offset, *size);
}

Result<void> Repair::write_header(std::uint64_t segment, OpenMode mode) {
  auto file = files_.open(segment_file(segment), mode);
  if (!file) return file.error();
  journal_format::SegmentHeader header;
  header.number = segment;
  header.first_sequence = journal_.first_in(segment);
  header.nonce = static_cast<std::uint32_t>(journal_.epoch_of(segment) >> 32U);
  if (header.nonce == 0) header.version = 1;  // as it was, or there is nothing in it
  auto done = (*file)->write_at(0, journal_format::encode(header));
  if (done) done = (*file)->sync();
  return done;
}

/// A segment whose header is damaged is not opened at all, so the header is written again; and
/// one that is missing is not gone on from, so an empty one takes its place.
Result<void> Repair::mend_headers() {
  for (const Damage& each : report.damages) {
    if (each.segment == 0 || each.offset != 0) continue;
    if (const auto done = write_header(each.segment, OpenMode::read_write); !done) return done;
  }
  const auto gone = missing_segments(files_, journal_.end_position.segment, true);
  if (!gone) return gone.error();
  if (!gone->empty() && gone->front().first == journal_.end_position.segment) {
    const auto done = write_header(gone->front().first, OpenMode::create);
    if (!done) return done;
  }
  return files_.sync_names();
}

Result<void> Repair::write_checkpoint() {
  auto& slots = holdings_->slots();
  slots.begin_snapshot();
  std::size_t next = 0;
  const auto written = write_checkpoint_file(
      files_, describe_holdings(*holdings_, journal_.end_position, incarnation_), {},
      [&](Slots::Copy& into) { return copy_next(slots, next, into); });
  slots.end_snapshot();
  if (!written) return written.error();
  return {};
}

// Everything is copied before anything is changed. What a new checkpoint holds can be worked out
// only as long as the damage shows, so that comes before headers and files that hide some of it. A
// repair that is interrupted leaves damage that the next one finds, wherever it was.
Result<void> Repair::carry_out() {
  for (const Damage& each : report.damages) {
    if (const auto done = copy_aside(each); !done) return done;
  }
  const std::string name =
      "quarantine-report-" + std::to_string(now_.time_since_epoch().count()) + ".txt";
  if (const auto done = write_new(name, describe(report, true)); !done) return done;
  const auto list = BrokenList::to_text(broken_);
  if (const auto done =
          list.empty() ? Result<void>{} : write_new(BrokenList::file_name(now_), list);
      !done) {
    return done;
  }
  if (const auto done = files_.sync_names(); !done) return done;
  if (const auto done = write_checkpoint(); !done) return done;
  return mend_headers();
}

void tell(std::string& out, const char* word, const QueueRepair::Message& message) {
  out +=
      std::string(word) + "  " + (message.queue.empty() ? "" : "queue \"" + message.queue + "\" ") +
      (message.id.empty() ? "a message without a readable id" : "message \"" + message.id + "\"") +
      " (" + message.where + ")\n";
}

}  // namespace

std::string describe(const QueueRepair& repair, bool applied) {
  std::string out;
  if (repair.damages.empty() && repair.damaged.empty()) {
    return "ok        nothing is damaged; there is nothing to repair\n";
  }
  for (const Damage& each : repair.damages) {
    out += "DAMAGED   " + each.file + " at byte " + std::to_string(each.offset) +
           (each.size > 0 ? ", " + std::to_string(each.size) + " bytes: " : ": ") + each.what +
           "\n";
  }
  if (repair.damages.empty()) {
    for (const auto& each : repair.damaged) tell(out, "BROKEN  ", each);
    return out + "ok        there is nothing to repair; " + std::to_string(repair.damaged.size()) +
           " messages are broken, as an earlier repair told, and are handed out as undecodable\n";
  }
  for (const auto& each : repair.lost) tell(out, "LOST    ", each);
  for (const auto& each : repair.damaged) tell(out, "BROKEN  ", each);
  for (const auto& each : repair.doubtful) tell(out, "AGAIN   ", each);
  for (const auto& each : repair.notes) out += "NOTE      " + each + "\n";
  for (const auto& each : repair.queues) {
    out += "queue     " + each.name + ": " + std::to_string(each.waiting) + " waiting, " +
           std::to_string(each.dead) + " dead\n";
  }
  const auto count = [](std::size_t number) { return std::to_string(number); };
  out += count(repair.damages.size()) + " damaged places; " + count(repair.lost.size()) +
         " messages lost; " + count(repair.damaged.size()) +
         " broken, which are handed out as undecodable; " + count(repair.doubtful_count) +
         " delivered again because a record of what became of them may be lost; " +
         count(repair.unknown_records) +
         " records lost of which nothing is known, publications "
         "perhaps.\n";
  if (applied) {
    out +=
        "The damaged bytes are in files beside the journal whose names begin with quarantine-. "
        "Nothing was deleted; the queues can be opened.\n";
  } else {
    out +=
        "Nothing was changed. Restore the files from a backup if there is one. To set the "
        "damaged bytes aside and go on with the rest: dlo queue repair --yes\n";
  }
  return out;
}

Result<QueueRepair> repair_queues(FileSystem& files, TimePoint now, bool apply) {
  Repair repair(files, now);
  if (const auto looked = repair.look(); !looked) return looked.error();
  if (apply && !repair.report.damages.empty()) {
    if (const auto done = repair.carry_out(); !done) return done.error();
  }
  return std::move(repair.report);
}

}  // namespace dlo
