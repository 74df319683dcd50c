// How what was placed reaches the kernel and the disk, and who waits for it.
#include <algorithm>
#include <string>

#include "dlo/journal/format.h"
#include "dlo/journal/log.h"

namespace dlo {
namespace {

namespace format = journal_format;
constexpr std::size_t largest_buffer = 4U << 20U;   // larger ones are not kept
constexpr std::size_t zeros_pay_below = 8U << 10U;  // bytes a group
constexpr std::uint64_t zeros_at_once = 256U << 10U;
// Whoever would only wait for the next sync hands a group of this size to the kernel meanwhile:
// then the disk does not wait for the copying.
constexpr std::size_t written_ahead_from = 32U << 10U;

/// Overwriting blocks that were written before syncs faster than writing into blocks that are
/// merely taken, and waits for nobody else's files, which matters if groups are small. So the one
/// that comes upon untouched blocks brings zeros for those that follow.
void add_zeros(const Segment& segment, std::uint64_t offset, std::string& bytes) {
  const auto end = offset + bytes.size();
  if (end <= segment.written) return;
  bytes.resize(bytes.size() + std::min(zeros_at_once, segment.size - end), '\0');
}

/// Whoever waited for it would wait for ever: a damaged owner may ask for it.
Error never_appended(std::uint64_t sequence) {
  return Error{
      Code::corrupt, "journal.durable",
      "Record " + std::to_string(sequence) +
          " was never appended to this journal. Nothing was changed; 'dlo queue fsck' says "
          "what is damaged."};
}

}  // namespace

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
  for (Piece& piece : pieces) {
    if (before && before != piece.segment) {
      // Groups of a new segment prove that the old one is whole: sync it first.
      done = before->file->sync();
      if (!done) break;
    }
    before = piece.segment;
    if (piece.offset == 0) done = files_.sync_names();
    if (!done) break;
    if (touched.empty() || touched.back() != piece.segment) touched.push_back(piece.segment);
    if (piece.zeros == 0) {
      bytes += piece.bytes.size();
      if (piece.last_group != 0) {
        usual_size_ = usual_size_ - usual_size_ / 8 + piece.bytes.size() / 8;
        if (usual_size_ < zeros_pay_below) {
          add_zeros(*piece.segment, piece.offset, piece.bytes);
        }
      }
      done = piece.segment->file->write_at(piece.offset, piece.bytes);
      const auto end = piece.offset + piece.bytes.size();
      piece.segment->written = std::max(piece.segment->written, end);
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
  next_wanted_ = false;
  covering_ = UINT64_MAX;  // whoever comes while another still writes is covered, too
  ++turn_;
  while (writing_) changed_.wait(lock);
  covering_ = next_sequence_;
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
    durable_ = std::max(durable_.load(), upto);
    synced_group_ = std::max(synced_group_, group);
    backlog_ -= std::min(backlog_, covered);
    // Only the newest segment can be written to again.
    if (dirty_.size() > 1) dirty_.erase(dirty_.begin(), dirty_.end() - 1);
  }
  if (next_wanted_) background_wake_.notify_one();
  roomy_ = has_room();
  end_turn();
  changed_.notify_all();
}

void Log::end_turn() {
  std::atomic<int>& turn = turns_[turn_ % 2];
  if (error_) return;  // which ended all of them
  turn = static_cast<int>(turn_);
  turn.notify_all();
}

/// Waits for the running sync if it covers this record, or for the next, which is the background's.
void Log::await_sync(Lock& lock, std::uint64_t sequence) {
  std::uint32_t turn = turn_;
  if (sequence >= covering_) {
    ++turn;
    next_wanted_ = true;
  }
  std::atomic<int>& word = turns_[turn % 2];
  lock.unlock();
  const auto over = [turn](int seen) {  // also when the numbers have gone round
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(seen) - turn) >= 0;
  };
  for (int seen = word.load(); !over(seen); seen = word.load()) word.wait(seen);
  if (durable_ <= sequence) lock.lock();
}

Result<void> Log::written(std::uint64_t sequence) {
  Lock lock(mutex_);
  while (written_ <= sequence) {
    const auto ready = usable();
    if (!ready) return ready;
    if (sequence >= next_sequence_) return never_appended(sequence);
    if (writing_) {
      changed_.wait(lock);
    } else {
      write_out(lock);
    }
  }
  return {};
}

Result<std::uint64_t> Log::durable(std::uint64_t sequence) {
  if (durable_ <= sequence) {
    Lock lock(mutex_);
    while (durable_ <= sequence) {
      if (const auto ready = usable(); !ready) return ready.error();
      if (sequence >= next_sequence_) return never_appended(sequence);
      if (syncing_ && sequence >= covering_ && !writing_ && group_.size() >= written_ahead_from) {
        write_out(lock);
      } else if (syncing_) {
        await_sync(lock, sequence);
      } else {
        sync_out(lock);
      }
    }
  }
  return durable_ - 1;
}

void Log::background() {
  Lock lock(mutex_);
  const auto over = [this] { return stopping_ || closed_ || error_.has_value(); };
  while (!over()) {
    const auto worth_it = [this] {
      return (next_wanted_ || backlog_ >= options_.background_at) && !syncing_;
    };
    background_wake_.wait(lock, [&] { return over() || worth_it(); });
    if (!over()) sync_out(lock);
  }
}

}  // namespace dlo
