#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"

namespace dlo {

/// Where a record lies. Eight bytes, so that an index of millions stays small.
struct Location {
  std::uint32_t segment = 0;
  std::uint32_t offset = 0;
  bool operator==(const Location&) const = default;
};

/// A record to be read: where it lies, and which one must be there.
struct Address {
  Location location;
  std::uint64_t sequence = 0;
};

/// A record to be written: its three parts are joined, so that callers need not copy a body to put
/// their own fields around it. Types 0 and 255 belong to the journal.
struct NewRecord {
  std::uint8_t type = 1;
  std::string_view head;
  std::string_view body;
  std::string_view tail = {};
  std::optional<std::uint32_t> crc = {};  // crc32c of head and body, if the caller has it already
};

/// A record as it is read back.
struct Entry {
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;
  std::string_view body;
  Location location;
};

struct JournalOptions {
  std::uint64_t segment_size = 16U << 20U;
  std::uint64_t segment_records = 1U << 24U;  // more begin the next: indexes count with 24 bits
  std::size_t backlog_limit = 8U << 20U;      // unsynced bytes beyond which appenders wait
  std::size_t background_at = 64U << 10U;     // from this size on the journal's own thread syncs
  std::size_t spare_segments = 1;             // emptied segments kept for reuse
  bool prepare_ahead = true;                  // a thread that readies the next segment
  // Drawn for every life of a segment; nobody who chooses what is appended may guess it. Without
  // one, bytes of a record in a segment that is used again could be taken for a group.
  std::function<std::uint32_t()> nonce;
};

/// What opening found. Everything here is worth telling the operator.
struct RecoveryReport {
  bool clean = false;         // the last stop sealed the journal
  std::uint64_t records = 0;  // read back
  // Of a group that a crash left unfinished. It was never acknowledged, unless it was damaged
  // afterwards: that nobody can tell.
  std::uint64_t cut_bytes = 0;    // up to the end of the last whole group behind it
  std::uint64_t cut_records = 0;  // whole ones behind it, which went with it
  std::string cut_file;
  std::uint64_t cut_offset = 0;
  std::string cut_copy;  // a file with what was cut off; empty: there is none
};

struct JournalStats {
  std::uint64_t next_sequence = 0;
  std::uint64_t durable_sequence = 0;  // every record below this is synced
  std::uint64_t groups = 0;
  std::uint64_t syncs = 0;
  std::uint64_t bytes_written = 0;  // passed to write calls, zeroing of segments apart
  std::uint64_t disk_bytes = 0;     // size of all files
  std::uint64_t live_bytes = 0;     // ... but for those that are kept for reuse
  std::uint32_t active_segment = 0;
  std::vector<std::uint64_t> segment_numbers;
  std::vector<std::uint64_t> segment_sizes;  // of the same segments
};

/// The number of the segment a file of this name holds, if it is one.
[[nodiscard]] std::optional<std::uint64_t> segment_number(const std::string& file_name);
/// ... and the name of a segment's file.
[[nodiscard]] std::string segment_file(std::uint64_t number);

/// A moment of the journal from which replay can begin.
struct JournalPosition {
  std::uint64_t sequence = 0;  // the first record that is not yet in the owner's state
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t group = 0;
  std::uint32_t previous_crc = 0;
};

/// An append-only log of records with group commit. Knows bytes, not messages.
/// Threads  Any method from any thread.
/// Durable  `durable(s)` returns ok only after the sync that covers record s; whoever waits
///          shares it. `written(s)` only after the kernel has it: survives the process, not power.
/// Failure  After a failed write or sync nothing more is acknowledged: every call answers
///          unavailable until the journal is opened anew. A full disk before anything was
///          placed answers `full` and changes nothing.
/// Damage   Damage before something that is known to have been synced is corruption and refused
///          with file and offset. Damage in what no sync covered is cut and reported.
class Journal {
 public:
  using Visitor = std::function<Result<void>(const Entry&)>;
  using Reader = std::function<void(std::size_t, const Result<std::string_view>&)>;

  /// Replays every record from `from` (empty: from the oldest segment) through `visit`, then
  /// accepts appends. `files` must outlive the journal.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(
      FileSystem& files, const JournalOptions& options, const std::optional<JournalPosition>& from,
      const Visitor& visit, RecoveryReport& report);

  virtual ~Journal() = default;

  /// Places records, in order and next to each other, and answers the sequence of the first.
  /// `where[i]` is the location of record i; `where` may be empty. After a crash the list is there
  /// wholly or not at all. Nothing is durable yet. Waits for no sync: call `wait_for_room` before,
  /// holding no lock.
  virtual Result<std::uint64_t> append(std::span<const NewRecord> records,
                                       std::span<Location> where) = 0;
  /// Appenders that outrun the disk wait here until it has caught up. On a disk that is full,
  /// `essential` appends may still use what is left of the segment (an eighth of it at least, for
  /// records that make room again) and then of the disk, in short segments; others are told `full`.
  virtual Result<void> wait_for_room(bool essential) = 0;
  /// True: whoever appends a little now would not wait there. For threads that must not.
  [[nodiscard]] virtual bool has_room_now() const noexcept = 0;
  virtual Result<void> written(std::uint64_t sequence) = 0;
  /// Answers the newest record that is durable by now: this one or a later one.
  virtual Result<std::uint64_t> durable(std::uint64_t sequence) = 0;

  /// Reads back records that are at least written and calls `each` once for every one of them: with
  /// its number in `records` and its body, checksum verified, or why there is none. In the order
  /// of their places; neighbours are fetched together, so ask for many at once.
  virtual void read(std::span<const Address> records, const Reader& each) = 0;

  /// Nothing in this segment is needed any more: its file is reused. Not the active one.
  virtual Result<void> release(std::uint32_t segment) = 0;

  [[nodiscard]] virtual JournalPosition position() = 0;
  [[nodiscard]] virtual JournalStats stats() = 0;

  /// Why nothing more is taken, if that is so: `unavailable` after a failure or when closed, `full`
  /// (or whatever the disk said) as long as the next segment cannot be made.
  [[nodiscard]] virtual Result<void> health() = 0;

  /// Syncs and seals. Later calls answer unavailable.
  virtual Result<void> close() = 0;
};

}  // namespace dlo
