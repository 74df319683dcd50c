#include "dlo/store/sqlite/log_folding.h"

#include <sqlite3.h>
#include <thread>

#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {
namespace {

int note_pages(void* into, sqlite3* /*db*/, const char* /*name*/, int pages) {
  *static_cast<int*>(into) = pages;
  return SQLITE_OK;
}

/// SQLite's own patience sleeps longer from try to try, and readers are gone after a few
/// milliseconds.
int wait_a_little(void* most, int tries) {
  if (tries >= *static_cast<const int*>(most)) return 0;
  std::this_thread::sleep_for(Millis{1});
  return 1;
}

}  // namespace

LogFolding::LogFolding(sqlite3* db) : LogFolding(db, Limits{}) {}

LogFolding::LogFolding(sqlite3* db, Limits limits)
    : db_(db), limits_(limits), fold_at_(limits.fold_every), wait_at_(limits.wait_from) {
  sqlite3_wal_hook(db_, note_pages, &pages_);  // in place of SQLite's own
}

void LogFolding::after_commit() noexcept {
  if (pages_ < pages_before_) {  // begun anew
    fold_at_ = limits_.fold_every;
    wait_at_ = limits_.wait_from;
  }
  pages_before_ = pages_;
  if (pages_ < fold_at_) return;
  fold_at_ = pages_ + limits_.fold_every;
  if (pages_ < wait_at_) {
    (void)sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    return;
  }
  // Whoever reads for longer than that costs this wait again only when the log has doubled.
  wait_at_ = 2 * pages_;
  int most = limits_.wait_at_most;
  sqlite3_busy_handler(db_, wait_a_little, &most);
  (void)sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  sqlite3_busy_timeout(db_, busy_patience);
}

}  // namespace dlo::sqlite
