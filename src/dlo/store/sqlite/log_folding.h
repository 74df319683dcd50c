#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>

#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/damage.h"

namespace dlo::sqlite {

/// Folds the write-ahead log back into the database, so that it stays short, on a thread and a
/// connection of its own: writing back and syncing the database can take a tenth of a second, and
/// nobody who commits waits for that.
/// SQLite begins a log anew only at a moment when all of it is folded and nobody reads from it.
/// Under load there is no such moment, so one is made: what is there is folded and synced beside
/// the writer, then the writer is asked to make way while the little that came since is folded.
class LogFolding {
 public:
  struct Limits {
    int fold_every = 4'000;  // pages: 16 MB
    int anew_from = 15'000;  // pages: 60 MB; at twice that the writer waits until it is folded
    /// Milliseconds for those who read. One from outside may read for an hour: it is waited for
    /// again when the log has doubled.
    int wait_at_most = 500;
  };

  /// For the connection that writes; both outlive this. Once damage was found nothing more is
  /// folded; what it meets itself it notes. Throws `Failed`.
  LogFolding(const Connection& writer, Damage& damage);
  LogFolding(const Connection& writer, Damage& damage, Limits limits);
  LogFolding(const LogFolding&) = delete;
  LogFolding& operator=(const LogFolding&) = delete;
  /// What is being folded is folded to its end; nobody is waited for.
  ~LogFolding();

  /// Call these before each transaction and after each commit, in the thread that writes. What
  /// fails here fails nobody: the log is read as it is, and folded another time.
  void make_way() noexcept;
  void after_commit() noexcept;

  /// Of the log, after the last commit. For the thread that writes.
  [[nodiscard]] int pages() const noexcept { return noted_; }

 private:
  static constexpr int never = std::numeric_limits<int>::max();
  enum class Ended : std::uint8_t { folded, kept_back, failed, unsynced };
  struct Patience;

  void work();
  void fold();
  [[nodiscard]] Ended fold_beside_writer(bool all_of_it);
  [[nodiscard]] Ended fold_alone(int hold);
  [[nodiscard]] bool sync_database() noexcept;
  /// False: stop.
  [[nodiscard]] bool nap(int milliseconds);
  [[nodiscard]] Ended ended_as(int result);
  static int wait_for_others(void* patience, int tries);
  void is_begun_anew() noexcept;
  void is_not_begun_anew(bool tried) noexcept;

  sqlite3* const writer_;
  Damage& damage_;
  const Limits limits_;
  Connection db_;
  int noted_ = 0;  // the writer's
  std::mutex mutex_;
  std::condition_variable woken_;
  std::condition_variable done_;
  int pages_ = 0;
  int fold_at_;
  int anew_at_;
  int hold_;            // milliseconds that the writer makes way, at most
  bool due_ = false;    // from the commit that made it so until it has been folded
  bool alone_ = false;  // the writer makes way
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace dlo::sqlite
