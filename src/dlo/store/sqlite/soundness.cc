#include "dlo/store/sqlite/soundness.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <sqlite3.h>
#include <thread>

#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/opening.h"

namespace dlo {
namespace {

/// Interrupts a connection when the time is over, in a thread of its own: SQLite asks nobody while
/// it walks the pages of a table. More than once: between two statements nobody hears it.
class Deadline {
 public:
  Deadline(sqlite3* db, Millis at_most)
      : thread_([this, db, at_most](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          Millis wait = at_most;
          while (!stopped_.wait_for(lock, stop, wait, [&] { return stop.stop_requested(); })) {
            is_over_ = true;
            sqlite3_interrupt(db);
            wait = Millis{5};
          }
        }) {}
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::atomic<bool> is_over_{false};
  std::jthread thread_;  // last: it uses everything above
};

/// SQLite heads its lines with the name of the database.
std::string last_line(std::string_view text) {
  return std::string(text.substr(text.rfind('\n') + 1));
}

Soundness check_pages(sqlite::Connection& db, Millis at_most) {
  Soundness found;
  const Deadline deadline(db.raw(), at_most);
  try {
    sqlite::Statement check(db.raw(), "PRAGMA quick_check(1)");
    for (sqlite::Rows rows(check); rows.next();) {
      if (rows->view(0) != "ok") found.damage = last_line(rows->view(0));
    }
  } catch (const sqlite::Failed& failed) {
    if (failed.error.code == Code::corrupt || !deadline.is_over()) throw;
    found.whole = false;
  }
  return found;
}

}  // namespace

Result<Soundness> look_through(const std::string& directory, Millis at_most) {
  if (at_most <= Millis::zero()) return Soundness{.damage = "", .whole = false};
  const std::string path = directory + "/office.db";
  try {
    sqlite::Connection db(path, sqlite::reading_access(path));
    return check_pages(db, at_most);
  } catch (const sqlite::Failed& failed) {
    if (failed.error.code != Code::corrupt) return failed.error;
    return Soundness{.damage = failed.error.detail, .whole = true};
  }
}

}  // namespace dlo
