#include "dlo/store/sqlite/soundness.h"

#include <chrono>
#include <sqlite3.h>

#include "dlo/store/sqlite/connection.h"
#include "dlo/store/sqlite/opening.h"

namespace dlo {
namespace {

struct Deadline {
  std::chrono::steady_clock::time_point end;
  bool over = false;
};

int is_over(void* at) {
  auto& deadline = *static_cast<Deadline*>(at);
  deadline.over = std::chrono::steady_clock::now() >= deadline.end;
  return deadline.over ? 1 : 0;
}

}  // namespace

Result<Soundness> look_through(const std::string& directory, Millis at_most) {
  const std::string path = directory + "/office.db";
  Soundness found;
  Deadline deadline{std::chrono::steady_clock::now() + at_most};
  try {
    sqlite::Connection db(path, sqlite::reading_access(path));
    sqlite3_progress_handler(db.raw(), 1000, is_over, &deadline);
    sqlite::Statement check(db.raw(), "PRAGMA quick_check(1)");
    for (sqlite::Rows rows(check); rows.next();) {
      if (rows->view(0) != "ok") found.damage = rows->text(0);
    }
  } catch (const sqlite::Failed& failed) {
    if (deadline.over) {
      found.whole = false;
    } else if (failed.error.code == Code::corrupt) {
      found.damage = failed.error.detail;
    } else {
      return failed.error;
    }
  }
  return found;
}

}  // namespace dlo
