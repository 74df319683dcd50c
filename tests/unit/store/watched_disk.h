#pragma once

#include <functional>

namespace dlo::testing {

/// Every SQLite database that is opened while this lives is watched: before a page of it is
/// written and before it is synced (its log is neither) `look` is called in the thread that does
/// it. What it answers, if not 0, is SQLite's code of a failure that happens instead. What was
/// opened may be closed later, but then nobody looks. At most one at a time.
class WatchedDisk {
 public:
  enum class Act : unsigned char { write, sync };
  explicit WatchedDisk(std::function<int(Act)> look);
  ~WatchedDisk();
  WatchedDisk(const WatchedDisk&) = delete;
  WatchedDisk& operator=(const WatchedDisk&) = delete;
};

}  // namespace dlo::testing
