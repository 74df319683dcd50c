#pragma once

struct sqlite3;

namespace dlo::sqlite {

/// Folds the write-ahead log back into the database, so that it stays short. SQLite's own folding
/// waits for nobody: with readers that follow one another without a gap, as the payload index does
/// while it catches up, the log is never begun anew and becomes as large as the office.
/// Belongs to the thread of its connection, and lives as long as that.
class LogFolding {
 public:
  struct Limits {
    int fold_every = 4'000;  // pages: 16 MB
    int wait_from = 16'000;  // pages: from here on readers are waited for ...
    int wait_at_most = 500;  // ... so many milliseconds: one from outside may read for an hour
  };

  explicit LogFolding(sqlite3* db);
  LogFolding(sqlite3* db, Limits limits);
  LogFolding(const LogFolding&) = delete;
  LogFolding& operator=(const LogFolding&) = delete;
  ~LogFolding() = default;

  /// Call it after each commit. What fails here fails nobody: the log is read as it is, and folded
  /// another time.
  void after_commit() noexcept;

  /// Of the log, after the last commit.
  [[nodiscard]] int pages() const noexcept { return pages_; }

 private:
  sqlite3* db_;
  const Limits limits_;
  int pages_ = 0;
  int pages_before_ = 0;
  int fold_at_;
  int wait_at_;
};

}  // namespace dlo::sqlite
