#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "dlo/journal/journal.h"
#include "dlo/journal/recovery.h"
#include "dlo/journal/segments.h"

namespace dlo {

/// `Journal::read` on segments, whoever opened them.
void read_records(const FileSystem& files, const Segments& segments,
                  std::span<const Address> records, const Journal::Reader& each);

/// The journal. Appenders fill the open group under a short lock; whoever needs durability and
/// finds nobody syncing writes and syncs for everybody (a leader), so a lone caller pays no
/// hand-over. If others came meanwhile a thread of our own goes on, sync after sync, until nobody
/// waits; and it begins by itself from `background_at` bytes on.
class Log final : public Journal {
 public:
  Log(FileSystem& files, const JournalOptions& options);
  ~Log() override;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  Result<void> start(const std::optional<JournalPosition>& from, const Visitor& visit,
                     RecoveryReport& report);

  Result<std::uint64_t> append(std::span<const NewRecord> records,
                               std::span<Location> where) override;
  Result<void> wait_for_room(bool essential) override;
  bool has_room_now() const noexcept override { return roomy_; }
  Result<void> written(std::uint64_t sequence) override;
  Result<std::uint64_t> durable(std::uint64_t sequence) override;
  void read(std::span<const Address> records, const Reader& each) override;
  Result<void> release(std::uint32_t segment) override;
  JournalPosition position() override;
  JournalStats stats() override;
  Result<void> health() override;
  Result<void> close() override;

 private:
  /// A piece of a segment on its way to the kernel.
  struct Piece {
    SegmentPtr segment;
    std::uint64_t offset = 0;
    std::string bytes;
    std::uint64_t zeros = 0;       // instead of bytes
    std::uint64_t last_group = 0;  // 0: no group ends here
    std::uint64_t end_sequence = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] std::string header_of_active() const;  // with nothing in it yet
  void open_group();
  void close_group();
  void place(const NewRecord& record, std::uint32_t crc);
  Result<void> make_room(std::uint64_t bytes, std::uint64_t records);
  bool extend(std::uint64_t bytes);
  Result<void> next_segment(std::uint64_t room);
  Result<void> seal(Lock& lock);
  Result<void> wait_for_backlog(Lock& lock);
  [[nodiscard]] std::uint64_t left() const noexcept;  // in the active segment
  [[nodiscard]] bool has_room() const noexcept;
  void write_out(Lock& lock);
  void sync_out(Lock& lock);
  void await_sync(Lock& lock, std::uint64_t sequence);
  void end_turn();
  void end_all_turns();
  void fail(const Error& error);
  void background();
  [[nodiscard]] Result<void> usable() const;

  FileSystem& files_;
  const JournalOptions options_;
  Segments segments_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable background_wake_;
  std::optional<Error> error_;
  bool closing_ = false;  // nothing is placed any more: the seal is the last
  bool closed_ = false;
  std::atomic<bool> roomy_ = false;  // whoever appends need not look closer

  // The open group.
  SegmentPtr active_;
  bool next_asked_ = false;         // the one after it is being made
  std::uint64_t first_in_it_ = 1;   // sequence
  std::uint64_t group_offset_ = 0;  // where it will lie in the active segment
  std::string group_;               // header (blank until it is closed) and records
  std::uint32_t group_records_ = 0;
  std::uint32_t record_headers_crc_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t next_group_ = 1;
  std::uint32_t previous_crc_ = 0;

  std::vector<std::string> buffers_;  // of groups that are with the kernel, for the next ones

  std::deque<Piece> pieces_;       // closed, not yet with the kernel
  std::size_t backlog_ = 0;        // bytes placed and not yet synced
  std::vector<SegmentPtr> dirty_;  // written to since their last sync
  std::size_t usual_size_ = 0;     // of a group, lately; of whoever is writing
  bool writing_ = false;
  bool syncing_ = false;
  std::uint64_t written_ = 1;               // every record below is with the kernel
  std::atomic<std::uint64_t> durable_ = 1;  // every record below is synced
  std::uint64_t written_group_ = 0;
  std::uint64_t synced_group_ = 0;

  // Whose turn is over: sync n sets `turns_[n % 2]` to n. Those it covers wait there and nobody
  // else, so a sync wakes no one in vain.
  std::atomic<int> turns_[2] = {0, 0};  // int: what the kernel can wait for
  std::uint32_t turn_ = 0;              // of the last sync that began
  std::uint64_t covering_ = 1;          // it covers every record below
  bool next_wanted_ = false;            // somebody waits for the one after it

  std::uint64_t syncs_ = 0;
  std::uint64_t bytes_written_ = 0;
  bool stopping_ = false;
  std::thread background_;
};

}  // namespace dlo
