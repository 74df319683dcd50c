#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo {

/// One file of the journal.
struct Segment {
  std::uint64_t number = 0;
  std::uint64_t epoch = 0;              // of its groups: the number, and what cannot be guessed
  std::atomic<std::uint64_t> size = 0;  // of the file; grows while others read what is in it
  bool zeroed = false;                  // behind what was written there are only zeros
  // Blocks below were written before, in this life of the file or an earlier one. Those above are
  // merely taken: the first sync of what is written there also waits for the file system's books.
  std::uint64_t written = 0;
  std::unique_ptr<File> file;
};
using SegmentPtr = std::shared_ptr<Segment>;

/// The files of a journal: which exist, and which are spare, so that appending never waits for a
/// file to be made.
/// Threads  Any method from any thread; none holds a lock across a sync.
class Segments {
 public:
  Segments(FileSystem& files, JournalOptions options);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  void adopt(SegmentPtr segment);

  /// The segment `number`, at least `room` bytes long, ready to be written. Syncs nothing: its name
  /// survives the machine only after `FileSystem::sync_names`. On a full disk it may be shorter
  /// than the others, so that those who make room can go on: what they write is little.
  Result<SegmentPtr> activate(std::uint64_t number, std::uint64_t room);

  /// Has a spare file made, unless there is one.
  void ready_next();
  /// Waits until there is a spare file, so that `activate` finds one; or says why there is none.
  Result<void> wait_until_ready();

  /// Why there is no spare file, if one could not be made.
  [[nodiscard]] Result<void> trouble();

  [[nodiscard]] SegmentPtr find(std::uint64_t number) const;
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;
  /// Which there are and how large.
  void describe(JournalStats& into) const;
  Result<void> release(std::uint64_t number);

  /// Ends the thread and removes what is spare.
  void stop();

 private:
  struct Spare {
    std::string name;
    bool zeroed = false;
    std::uint64_t written = 0;
  };

  [[nodiscard]] std::uint64_t new_epoch(std::uint64_t number) const;
  Result<SegmentPtr> reuse(std::uint64_t number, const Spare& spare);
  Result<SegmentPtr> create(std::uint64_t number, std::uint64_t size);
  Result<SegmentPtr> create_or_shorter(std::uint64_t number, std::uint64_t room);
  Result<void> make_spare(const std::string& name);
  [[nodiscard]] std::optional<Spare> take_spare();
  [[nodiscard]] bool has_spare() const;
  void prepare_loop();

  FileSystem& files_;
  JournalOptions options_;
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, SegmentPtr> live_;
  std::vector<Spare> spares_;

  std::mutex prepare_mutex_;
  std::condition_variable prepare_wake_;
  std::optional<Error> prepare_error_;  // why the last one could not be made
  bool wanted_ = false;
  bool stopping_ = false;
  std::uint64_t made_ = 0;
  std::thread preparer_;
};

}  // namespace dlo
