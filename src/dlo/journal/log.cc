#include "dlo/journal/log.h"

#include <algorithm>
#include <cstring>

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"

namespace dlo {
namespace {

namespace format = journal_format;
constexpr std::uint64_t largest_list = 1U << 30U;  // places in a segment have 32 bits

Error is_closed() {
  return {Code::unavailable, "journal", "The journal is closed. Open it again."};
}

std::uint64_t size_of(const NewRecord& record) noexcept {
  return format::record_header_size + record.head.size() + record.body.size() + record.tail.size();
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(FileSystem& files, const JournalOptions& options,
                                               const std::optional<JournalPosition>& from,
                                               const Visitor& visit, RecoveryReport& report) {
  auto log = std::make_unique<Log>(files, options);
  const auto started = log->start(from, visit, report);
  if (!started) return started.error();
  return std::unique_ptr<Journal>(std::move(log));
}

Log::Log(FileSystem& files, const JournalOptions& options)
    : files_(files), options_(options), segments_(files, options) {}

Log::~Log() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    background_wake_.notify_all();
  }
  if (background_.joinable()) background_.join();
}

Result<void> Log::start(const std::optional<JournalPosition>& from, const Visitor& visit,
                        RecoveryReport& report) {
  const auto end = recover(files_, segments_, from, visit, report);
  if (!end) return end.error();
  next_sequence_ = written_ = durable_ = end->next_sequence;
  next_group_ = end->next_group;
  written_group_ = synced_group_ = end->next_group - 1;
  previous_crc_ = end->previous_crc;
  // A new segment for every life: what an earlier one left behind is never written again.
  auto segment = segments_.activate(end->next_segment, 0);
  if (!segment) return segment.error();
  active_ = std::move(*segment);
  first_in_it_ = next_sequence_;
  const std::string header = header_of_active();
  auto written = files_.sync_names();
  if (written) written = active_->file->write_at(0, header);
  if (written) written = active_->file->sync();
  if (!written) return written;
  dirty_.push_back(active_);
  group_offset_ = format::segment_header_size;
  open_group();
  background_ = std::thread([this] { background(); });
  return {};
}

std::string Log::header_of_active() const {
  return format::encode(format::SegmentHeader{active_->number, next_sequence_, next_group_,
                                              previous_crc_,
                                              static_cast<std::uint32_t>(active_->epoch >> 32U)});
}

Result<void> Log::usable() const {
  if (error_) return *error_;
  return closed_ ? Result<void>(is_closed()) : Result<void>{};
}

void Log::fail(const Error& error) {
  if (!error_) {
    error_ = Error{Code::unavailable, error.where,
                   error.detail +
                       " The journal is read-only from here on and acknowledges nothing: what the "
                       "disk holds cannot be known. Repair the disk, then open it again."};
  }
  end_all_turns();
}

/// Nobody will sync any more: whoever waits for it looks why.
void Log::end_all_turns() {
  roomy_ = false;
  for (std::atomic<int>& turn : turns_) {
    turn = static_cast<int>(turn_ + 2);  // nobody waits for a later one than the next
    turn.notify_all();
  }
  changed_.notify_all();
  background_wake_.notify_all();
}

void Log::open_group() {
  if (!buffers_.empty()) {
    group_ = std::move(buffers_.back());
    buffers_.pop_back();
  }
  group_.assign(format::group_header_size, '\0');
  group_records_ = 0;
  record_headers_crc_ = 0;
}

void Log::close_group() {
  if (group_records_ == 0) return;
  format::GroupHeader header;
  header.epoch = active_->epoch;
  header.group = next_group_;
  header.first_sequence = next_sequence_ - group_records_;
  header.records = group_records_;
  header.size = static_cast<std::uint32_t>(group_.size() - format::group_header_size);
  header.previous_crc = previous_crc_;
  header.unsynced = static_cast<std::uint32_t>(next_group_ - 1 - synced_group_);
  format::encode(header, group_.data());
  header.crc = format::group_crc(record_headers_crc_, group_);
  format::encode(header, group_.data());
  group_.resize(format::aligned(group_.size()), '\0');

  Piece piece{active_, group_offset_, std::move(group_), 0, next_group_, next_sequence_};
  group_offset_ += piece.bytes.size();
  pieces_.push_back(std::move(piece));
  previous_crc_ = header.crc;
  ++next_group_;
  open_group();
}

Result<void> Log::next_segment(std::uint64_t room) {
  auto segment = segments_.activate(active_->number + 1, room);
  if (!segment) return segment.error();
  if (!active_->zeroed && group_offset_ < active_->size) {
    pieces_.push_back({active_, group_offset_, {}, active_->size - group_offset_, 0, 0});
  }
  active_ = std::move(*segment);
  first_in_it_ = next_sequence_;
  next_asked_ = false;
  group_offset_ = format::segment_header_size;
  pieces_.push_back({active_, 0, header_of_active(), 0, 0, 0});
  return {};
}

/// The list that comes upon the end of a segment makes it longer. In the next one it would leave a
/// hole behind that may be as large as itself: with long lists that is where the disk goes.
bool Log::extend(std::uint64_t bytes) {
  constexpr std::uint64_t small_holes = 512;  // such a part of a segment is not worth the trouble
  const auto used = group_offset_ + group_.size();
  // One that is short, because the disk was full, ends with its room: piece by piece is slow.
  if (active_->size < options_.segment_size || bytes > options_.segment_size ||
      used + options_.segment_size / small_holes >= options_.segment_size) {
    return false;
  }
  const auto end = group_offset_ + format::aligned(group_.size() + bytes);
  if (end > format::longest_segment || !active_->file->allocate(end))
    return false;  // the next segment may have been made already
  active_->size = end;
  return true;
}

Result<void> Log::make_room(std::uint64_t bytes, std::uint64_t records) {
  const bool countable = next_sequence_ - first_in_it_ + records <= options_.segment_records;
  const auto fits = [&] {
    return countable && group_offset_ + format::aligned(group_.size() + bytes) <= active_->size;
  };
  if (fits() || (countable && extend(bytes))) return {};
  close_group();
  if (fits()) return {};
  return next_segment(format::segment_header_size +
                      format::aligned(format::group_header_size + bytes));
}

void Log::place(const NewRecord& record, std::uint32_t crc) {
  char header[format::record_header_size];
  const format::RecordHeader fields{
      static_cast<std::uint32_t>(size_of(record) - format::record_header_size),
      format::record_crc(crc, next_sequence_, record.type), record.type};
  format::encode(fields, header);
  const std::string_view bytes(header, sizeof header);
  record_headers_crc_ = crc32c(record_headers_crc_, bytes);
  group_.append(bytes).append(record.head).append(record.body).append(record.tail);
  ++group_records_;
  ++next_sequence_;
  backlog_ += size_of(record);
}

/// Appenders outran the disk: they wait here, and one of them does the syncing.
Result<void> Log::wait_for_backlog(Lock& lock) {
  while (backlog_ > options_.backlog_limit && !error_ && !closed_) {
    if (syncing_) {
      changed_.wait(lock);
    } else {
      sync_out(lock);
    }
  }
  return usable();
}

Result<std::uint64_t> Log::append(std::span<const NewRecord> records, std::span<Location> where) {
  std::vector<std::uint32_t> crcs(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const NewRecord& record = records[i];
    const auto before = record.crc ? *record.crc : crc32c(crc32c(0, record.head), record.body);
    crcs[i] = crc32c(before, record.tail);
  }
  Lock lock(mutex_);
  const auto ready = usable();
  if (!ready) return ready.error();
  if (closing_) return is_closed();
  // The whole list goes into one group, so after a crash it is there wholly or not at all.
  std::uint64_t total = 0;
  for (const NewRecord& record : records) total += size_of(record);
  if (total > largest_list) {
    return Error{Code::invalid_argument, "journal.append",
                 "A list of " + std::to_string(total) +
                     " bytes is too large to be written at once; "
                     "at most " +
                     std::to_string(largest_list) +
                     " are possible. Nothing was written; "
                     "send it in smaller lists."};
  }
  if (records.size() > options_.segment_records) {
    return Error{Code::invalid_argument, "journal.append",
                 "A list of " + std::to_string(records.size()) +
                     " records is too long to be written at once; at most " +
                     std::to_string(options_.segment_records) +
                     " are possible. Nothing was written; send it in smaller lists."};
  }
  const auto room = make_room(total, records.size());
  if (!room) return room.error();
  const std::uint64_t first = next_sequence_;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i < where.size()) {
      where[i] = {static_cast<std::uint32_t>(active_->number),
                  static_cast<std::uint32_t>(group_offset_ + group_.size())};
    }
    place(records[i], crcs[i]);
  }
  if (backlog_ >= options_.background_at && !syncing_) background_wake_.notify_one();
  roomy_ = has_room();
  return first;
}

std::uint64_t Log::left() const noexcept {
  const std::uint64_t size = active_->size;
  return size - std::min(size, group_offset_ + group_.size());
}

bool Log::has_room() const noexcept {
  const auto enough = next_asked_ ? options_.segment_size / 8 : options_.segment_size / 2;
  return backlog_ <= options_.backlog_limit && left() >= enough && !error_ && !closed_;
}

Result<void> Log::wait_for_room(bool essential) {
  if (roomy_) return {};
  bool ends_soon = false;
  bool half_used = false;
  {
    Lock lock(mutex_);
    const auto ready = wait_for_backlog(lock);
    if (!ready) return ready;
    ends_soon = left() < options_.segment_size / 8;
    half_used = left() < options_.segment_size / 2 && !std::exchange(next_asked_, true);
    roomy_ = has_room();
  }
  // Not before: a journal that is hardly used makes no files it will not need.
  if (half_used) segments_.ready_next();
  if (!ends_soon) return {};
  const auto prepared = segments_.wait_until_ready();
  return essential ? Result<void>{} : prepared;
}

Result<void> Log::release(std::uint32_t segment) {
  {
    const std::lock_guard lock(mutex_);
    if (active_ && active_->number == segment) {
      return Error{Code::conflict, "journal.release", "The active segment cannot be released."};
    }
    std::erase_if(dirty_, [&](const SegmentPtr& each) { return each->number == segment; });
  }
  return segments_.release(segment);
}

JournalPosition Log::position() {
  const std::lock_guard lock(mutex_);
  close_group();  // so that the position lies between two groups
  return {next_sequence_, active_->number, group_offset_, next_group_, previous_crc_};
}

JournalStats Log::stats() {
  const std::lock_guard lock(mutex_);
  JournalStats stats;
  stats.next_sequence = next_sequence_;
  stats.durable_sequence = durable_;
  stats.groups = next_group_ - 1;
  stats.syncs = syncs_;
  stats.bytes_written = bytes_written_;
  stats.active_segment = static_cast<std::uint32_t>(active_->number);
  segments_.describe(stats);
  return stats;
}

Result<void> Log::health() {
  {
    const std::lock_guard lock(mutex_);
    if (const auto ready = usable(); !ready) return ready;
    if (left() >= options_.segment_size / 8) return {};
  }
  return segments_.trouble();
}

Result<void> Log::close() {
  Lock lock(mutex_);
  auto ready = usable();
  if (!ready) return ready;
  closing_ = true;
  // First everything else, so that the seal can say: all before me is synced.
  while (syncing_) changed_.wait(lock);
  sync_out(lock);
  if (error_) return *error_;
  if (const auto sealed = seal(lock); !sealed) return sealed;
  closed_ = true;
  end_all_turns();
  lock.unlock();
  background_.join();
  segments_.stop();
  return files_.sync_names();
}

/// Two groups, and the second says that the first is synced: then a change of either is followed by
/// something that was written later, or by the end of the file, and is no unfinished write. What is
/// not there cannot be damaged unnoticed, so the file ends here before they are written.
Result<void> Log::seal(Lock& lock) {
  const auto room = make_room(2 * format::sector, 2);
  if (!room) return room;
  sync_out(lock);  // a segment that was begun for them
  if (error_) return *error_;
  const auto second = format::second_seal_at(group_offset_);
  if (const auto cut = active_->file->truncate(group_offset_); !cut) {
    fail(cut.error());
    return *error_;
  }
  const std::string filling(
      second - group_offset_ - format::group_header_size - format::record_header_size, '\0');
  for (const std::string_view body : {std::string_view(filling), std::string_view()}) {
    active_->size = body.empty() ? second + format::second_seal_size : second;
    place({format::seal_type, {}, body}, crc32c(0, body));
    sync_out(lock);
    if (error_) return *error_;
  }
  return {};
}

}  // namespace dlo
