#pragma once

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
  std::uint64_t size = 0;  // of the file
  bool zeroed = false;     // behind what was written there are only zeros
  std::unique_ptr<File> file;
};
using SegmentPtr = std::shared_ptr<Segment>;

/// The files of a journal: which exist, which are spare, and the next one, readied ahead of need
/// so that appending never waits for a file to be made.
/// Threads  Any method from any thread; none holds a lock across a sync.
class Segments {
 public:
  Segments(FileSystem& files, JournalOptions options);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  void adopt(SegmentPtr segment);
  void adopt_spare(const std::string& name);

  /// The segment `number`, at least `room` bytes long, ready to be written, its name synced.
  Result<SegmentPtr> activate(std::uint64_t number, std::uint64_t room);

  /// Waits until the next segment is made, so that `activate` need not; or says why it cannot be.
  Result<void> wait_until_prepared();

  [[nodiscard]] SegmentPtr find(std::uint64_t number) const;
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;
  Result<void> release(std::uint64_t number);
  [[nodiscard]] std::uint64_t disk_bytes() const;
  [[nodiscard]] std::uint64_t live_bytes() const;  // without the spare ones

  /// Ends the thread and removes what was readied but never used.
  void stop();

 private:
  Result<SegmentPtr> make(std::uint64_t number, std::uint64_t size, bool zero);
  void prepare_loop();

  FileSystem& files_;
  JournalOptions options_;
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, SegmentPtr> live_;
  std::vector<std::string> spares_;

  std::mutex prepare_mutex_;
  std::condition_variable prepare_wake_;
  std::optional<std::uint64_t> wanted_;
  std::uint64_t next_ = 0;              // the one after the active one
  std::optional<Error> prepare_error_;  // why it could not be made
  SegmentPtr prepared_;
  bool preparing_ = false;
  bool stopping_ = false;
  std::thread preparer_;
};

}  // namespace dlo
