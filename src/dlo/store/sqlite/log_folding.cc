#include "dlo/store/sqlite/log_folding.h"

#include <algorithm>
#include <sqlite3.h>

namespace dlo::sqlite {
namespace {

// A look at the file: before it SQLite does not know that there is a log.
constexpr const char* settings =
    "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10;"
    "PRAGMA user_version";

/// Most who read are gone after some milliseconds, so the writer makes way for so long at first,
/// and for longer only if that was not enough.
constexpr int first_hold = 50;

int note_pages(void* into, sqlite3* /*db*/, const char* /*name*/, int pages) {
  *static_cast<int*>(into) = pages;
  return SQLITE_OK;
}

}  // namespace

LogFolding::LogFolding(const Connection& writer, Damage& damage)
    : LogFolding(writer, damage, Limits{}) {}

LogFolding::LogFolding(const Connection& writer, Damage& damage, Limits limits)
    : writer_(writer.raw()),
      damage_(damage),
      limits_(limits),
      db_(sqlite3_db_filename(writer_, "main"), Access::read_write),
      fold_at_(limits.fold_every),
      anew_at_(limits.anew_from),
      hold_(std::min(first_hold, limits.wait_at_most)) {
  db_.leave_log(true);  // the writer's connection is closed after this one, and decides
  db_.run(settings);
  sqlite3_wal_hook(writer_, note_pages, &noted_);  // in place of SQLite's own, which folds
  thread_ = std::thread([this] { work(); });
}

LogFolding::~LogFolding() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  thread_.join();
  sqlite3_wal_hook(writer_, nullptr, nullptr);
}

void LogFolding::make_way() noexcept {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return !due_ || (!alone_ && pages_ / 2 < anew_at_); });
}

void LogFolding::after_commit() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (noted_ < pages_) is_begun_anew();
    pages_ = noted_;
    if (due_ || pages_ < fold_at_) return;
    due_ = true;
  }
  woken_.notify_one();
}

void LogFolding::is_begun_anew() noexcept {
  pages_ = 0;
  if (fold_at_ == never) return;  // `fold` says why
  fold_at_ = limits_.fold_every;
  anew_at_ = limits_.anew_from;
  hold_ = std::min(first_hold, limits_.wait_at_most);
}

void LogFolding::is_not_begun_anew(bool tried) noexcept {
  const bool more_patience = tried && hold_ < limits_.wait_at_most;
  anew_at_ = more_patience ? pages_ + limits_.fold_every : 2 * pages_;
  hold_ = std::min(2 * hold_, limits_.wait_at_most);
}

void LogFolding::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [this] { return stopping_ || due_; });
    if (!stopping_) {
      lock.unlock();
      fold();
      lock.lock();
    }
    due_ = false;
    done_.notify_one();
    if (stopping_) return;
    due_ = pages_ >= fold_at_;
  }
}

void LogFolding::fold() {
  std::unique_lock lock(mutex_);
  fold_at_ = pages_ + limits_.fold_every;
  const bool anew = pages_ >= anew_at_;
  const int hold = hold_;
  if (damage_.found()) {
    fold_at_ = never;
    return;
  }
  lock.unlock();
  Ended ended = fold_beside_writer(anew);
  if (ended != Ended::unsynced && !sync_database()) ended = Ended::unsynced;
  const bool alone = anew && ended == Ended::folded;
  if (alone) ended = fold_alone(hold);
  lock.lock();
  if (ended == Ended::unsynced) {
    // The kernel tells this once and forgets what it could not write, and SQLite may take it for
    // folded: nothing may overwrite the log any more. Whoever opens the office next folds all.
    fold_at_ = never;
  } else if (alone && ended == Ended::folded) {
    is_begun_anew();  // by the next that is written
  } else if (anew) {
    is_not_begun_anew(alone);
  }
}

LogFolding::Ended LogFolding::ended_as(int result) {
  const int kind = result & 0xff;
  if (kind == SQLITE_OK) return Ended::folded;
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB) {
    damage_.note(explain(db_.raw(), result, "folding the log"));
  }
  if (result == SQLITE_IOERR_FSYNC) return Ended::unsynced;
  return kind == SQLITE_BUSY ? Ended::kept_back : Ended::failed;
}

LogFolding::Ended LogFolding::fold_beside_writer(bool all_of_it) {
  constexpr int each = 5;  // milliseconds: a try that gets on syncs the log
  for (int waited = 0;; waited += each) {
    int pages = 0;
    int folded = 0;
    const Ended ended = ended_as(
        sqlite3_wal_checkpoint_v2(db_.raw(), "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &folded));
    if (ended != Ended::folded) return ended;
    // What the newest readers keep back is folded when the writer has made way.
    if (pages - folded < limits_.fold_every) return Ended::folded;
    if (!all_of_it || waited >= limits_.wait_at_most || !nap(each)) return Ended::kept_back;
  }
}

struct LogFolding::Patience {
  LogFolding& folding;
  int most;
};

LogFolding::Ended LogFolding::fold_alone(int hold) {
  const auto let_writer_go = [this](bool go) {
    {
      const std::lock_guard lock(mutex_);
      alone_ = !go;
    }
    if (go) done_.notify_one();
  };
  Patience patience{*this, hold};
  let_writer_go(false);
  sqlite3_busy_handler(db_.raw(), wait_for_others, &patience);
  const Ended ended = ended_as(
      sqlite3_wal_checkpoint_v2(db_.raw(), "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr));
  sqlite3_busy_timeout(db_.raw(), 0);
  let_writer_go(true);
  return ended;
}

/// SQLite's own patience sleeps longer from try to try.
int LogFolding::wait_for_others(void* patience, int tries) {
  const auto& [folding, most] = *static_cast<Patience*>(patience);
  return tries < most && folding.nap(1) ? 1 : 0;
}

bool LogFolding::nap(int milliseconds) {
  std::unique_lock lock(mutex_);
  return !woken_.wait_for(lock, Millis{milliseconds}, [this] { return stopping_; });
}

/// SQLite does it only where nothing was written meanwhile, which leaves the whole of it to the
/// moment when the writer makes way. Through SQLite's own handle: closing another one would give
/// up all locks that this process has on the file.
bool LogFolding::sync_database() noexcept {
  sqlite3_file* file = nullptr;
  const int found =
      sqlite3_file_control(db_.raw(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (found != SQLITE_OK || file == nullptr || file->pMethods == nullptr) return true;
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

}  // namespace dlo::sqlite
