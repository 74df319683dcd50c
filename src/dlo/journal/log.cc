#include "dlo/journal/log.h"

#include <algorithm>
#include <cstring>

#include "dlo/journal/crc32c.h"
#include "dlo/journal/format.h"

namespace dlo {
namespace {

namespace format = journal_format;
constexpr std::uint8_t seal_type = 255;
constexpr std::uint64_t largest_list = 1U << 30U;  // places in a segment have 32 bits
constexpr std::size_t largest_buffer = 4U << 20U;  // larger ones are not kept

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
  const std::string header = format::encode(
      format::SegmentHeader{active_->number, next_sequence_, next_group_, previous_crc_});
  auto written = active_->file->write_at(0, header);
  if (written) written = active_->file->sync();
  if (!written) return written;
  dirty_.push_back(active_);
  group_offset_ = format::segment_header_size;
  open_group();
  background_ = std::thread([this] { background(); });
  return {};
}

Result<void> Log::usable() const {
  if (error_) return *error_;
  if (closed_) {
    return Error{Code::unavailable, "journal", "The journal is closed. Open it again."};
  }
  return {};
}

void Log::fail(const Error& error) {
  if (!error_) {
    error_ = Error{Code::unavailable, error.where,
                   error.detail +
                       " The journal is read-only from here on and acknowledges nothing: what the "
                       "disk holds cannot be known. Repair the disk, then open it again."};
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
  header.epoch = active_->number;
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
  group_offset_ = format::segment_header_size;
  pieces_.push_back({active_, 0,
                     format::encode(format::SegmentHeader{active_->number, next_sequence_,
                                                          next_group_, previous_crc_}),
                     0, 0, 0});
  return {};
}

Result<void> Log::make_room(std::uint64_t bytes) {
  if (group_offset_ + format::aligned(group_.size() + bytes) <= active_->size) return {};
  close_group();
  if (group_offset_ + format::aligned(group_.size() + bytes) <= active_->size) return {};
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
  const auto room = make_room(total);
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
  return first;
}

Result<void> Log::wait_for_room(bool essential) {
  bool ends_soon = false;
  {
    Lock lock(mutex_);
    const auto ready = wait_for_backlog(lock);
    if (!ready) return ready;
    ends_soon = active_->size - std::min(active_->size, group_offset_) < options_.segment_size / 8;
  }
  if (!ends_soon) return {};
  const auto prepared = segments_.wait_until_prepared();
  return essential ? Result<void>{} : prepared;
}

/// Hands everything placed so far to the kernel, in order. Needs the lock; frees it meanwhile.
void Log::write_out(Lock& lock) {
  writing_ = true;
  close_group();
  std::deque<Piece> pieces = std::exchange(pieces_, {});
  SegmentPtr before = dirty_.empty() ? nullptr : dirty_.back();
  lock.unlock();
  Result<void> done;
  std::uint64_t bytes = 0;
  std::vector<SegmentPtr> touched;
  for (const Piece& piece : pieces) {
    if (before && before != piece.segment) {
      // Groups of a new segment prove that the old one is whole: sync it first.
      done = before->file->sync();
      if (!done) break;
    }
    before = piece.segment;
    if (touched.empty() || touched.back() != piece.segment) touched.push_back(piece.segment);
    if (piece.zeros == 0) {
      done = piece.segment->file->write_at(piece.offset, piece.bytes);
      bytes += piece.bytes.size();
    } else {
      done = piece.segment->file->write_at(piece.offset, std::string(piece.zeros, '\0'));
    }
    // A header that is synced before any group: without one a segment holds nothing, for sure.
    if (done && piece.offset == 0) done = piece.segment->file->sync();
    if (!done) break;
  }
  lock.lock();
  writing_ = false;
  bytes_written_ += bytes;
  for (SegmentPtr& segment : touched) {
    if (dirty_.empty() || dirty_.back() != segment) dirty_.push_back(std::move(segment));
  }
  if (!done) {
    fail(done.error());
    return;
  }
  for (Piece& piece : pieces) {
    if (piece.last_group == 0) continue;
    written_ = piece.end_sequence;
    written_group_ = piece.last_group;
    const bool worth_keeping = piece.bytes.capacity() <= largest_buffer;
    if (buffers_.size() < 4 && worth_keeping) buffers_.push_back(std::move(piece.bytes));
  }
  changed_.notify_all();
}

/// Writes what is placed and syncs it: one sync for everything that came until now.
void Log::sync_out(Lock& lock) {
  syncing_ = true;
  while (writing_) changed_.wait(lock);
  if (!error_) write_out(lock);
  const std::uint64_t upto = written_;
  const std::uint64_t group = written_group_;
  const std::size_t covered = backlog_ - (group_.size() - format::group_header_size);
  std::vector<SegmentPtr> dirty = dirty_;
  Result<void> done;
  if (!error_) {
    lock.unlock();
    for (const SegmentPtr& segment : dirty) {
      if (done) done = segment->file->sync();
    }
    lock.lock();
  }
  syncing_ = false;
  if (!done) fail(done.error());
  if (!error_) {
    ++syncs_;
    durable_ = std::max(durable_, upto);
    synced_group_ = std::max(synced_group_, group);
    backlog_ -= std::min(backlog_, covered);
    // Only the newest segment can be written to again.
    if (dirty_.size() > 1) dirty_.erase(dirty_.begin(), dirty_.end() - 1);
  }
  changed_.notify_all();
}

Result<void> Log::written(std::uint64_t sequence) {
  Lock lock(mutex_);
  while (written_ <= sequence) {
    const auto ready = usable();
    if (!ready) return ready;
    if (writing_) {
      changed_.wait(lock);
    } else {
      write_out(lock);
    }
  }
  return {};
}

Result<void> Log::durable(std::uint64_t sequence) {
  Lock lock(mutex_);
  while (durable_ <= sequence) {
    const auto ready = usable();
    if (!ready) return ready;
    if (syncing_) {
      changed_.wait(lock);
    } else {
      sync_out(lock);
    }
  }
  return {};
}

void Log::background() {
  Lock lock(mutex_);
  const auto over = [this] { return stopping_ || closed_ || error_.has_value(); };
  while (!over()) {
    const auto worth_it = [this] { return backlog_ >= options_.background_at && !syncing_; };
    background_wake_.wait(lock, [&] { return over() || worth_it(); });
    if (!over()) sync_out(lock);
  }
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
  stats.disk_bytes = segments_.disk_bytes();
  stats.live_bytes = segments_.live_bytes();
  stats.active_segment = static_cast<std::uint32_t>(active_->number);
  stats.segment_numbers = segments_.numbers();
  return stats;
}

Result<void> Log::close() {
  Lock lock(mutex_);
  auto ready = usable();
  if (!ready) return ready;
  // First everything else, so that the seal can say: all before me is synced.
  while (syncing_) changed_.wait(lock);
  sync_out(lock);
  if (error_) return *error_;
  const NewRecord seal{seal_type, {}, {}};
  const auto room = make_room(size_of(seal));
  if (!room) return room;
  place(seal, crc32c(0, {}));
  sync_out(lock);
  if (error_) return *error_;
  closed_ = true;
  background_wake_.notify_all();
  lock.unlock();
  background_.join();
  segments_.stop();
  // What is not there cannot be damaged unnoticed.
  auto done = active_->file->truncate(group_offset_);
  if (done) done = active_->file->sync();
  if (done) done = files_.sync_names();
  return done;
}

}  // namespace dlo
