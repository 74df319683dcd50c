#include "dlo/store/sqlite/opening.h"

#include <filesystem>
#include <unistd.h>
#include <vector>

#include "dlo/store/sqlite/permission.h"
#include "dlo/store/sqlite/schema.h"
#include "dlo/store/sqlite/soundness.h"

namespace dlo::sqlite {
namespace {

// FULL: a commit that was answered survives the machine. A migration folds the log back every 16
// MB; once the office is open `LogFolding` sees to that. The log keeps its size, unless it had
// become very long, so that later commits overwrite instead of growing a file, which syncs faster.
// Debian's build would zero what is deleted; retention is not shredding.
constexpr const char* settings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 4000;"
    "PRAGMA journal_size_limit = 134217728;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA cache_size = -8000;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cell_size_check = ON;";

/// Enough for some hundred megabytes; starting may not take much longer for it.
constexpr Millis first_look{100};

/// SQLite opens a file it may not write to read-only and says nothing: every later write would be
/// refused by a server that seemed to have started. So does a log; that a transaction tells, which
/// writes nothing.
void require_writable(Connection& db, const std::string& path) {
  Error refusal{Code::refused, "sqlite.open",
                "cannot write " + path +
                    ": it is read-only here; nothing was changed; make it writable for this user, "
                    "or open the office read-only, as `dlo list` and `dlo show` do"};
  if (!db.is_read_only()) {
    try {
      db.run("BEGIN IMMEDIATE");
      db.run("ROLLBACK");
      return;
    } catch (const Failed& failed) {
      if (failed.error.code != Code::refused) throw;
      refusal = failed.error;
    }
  }
  const auto lacking = lacking_permission(path, true);
  throw Failed{lacking ? *lacking : refusal};
}

bool has_bytes(const std::filesystem::path& path) {
  std::error_code unseen;
  const auto size = std::filesystem::file_size(path, unseen);
  return !unseen && size > 0;
}

/// What is only there once an office has been written. A directory may have been a queue's alone so
/// far, but then no office was ever begun in it.
std::vector<std::string> remains_in(const std::string& directory, bool begun) {
  std::vector<std::string> found;
  for (const char* name : {"office.db-wal", "payloads.db", "payloads.db-wal"}) {
    if (has_bytes(std::filesystem::path(directory) / name)) found.emplace_back(name);
  }
  std::error_code unseen;
  const bool queues = !std::filesystem::is_empty(directory + "/queues", unseen) && !unseen;
  if (begun && queues) found.emplace_back("queues");
  return found;
}

}  // namespace

std::optional<Error> lost_office(const std::string& directory) {
  const std::string path = directory + "/office.db";
  std::error_code unseen;
  const bool is_there = std::filesystem::exists(path, unseen);
  if (unseen || has_bytes(path)) return std::nullopt;
  std::string names;
  for (const std::string& each : remains_in(directory, is_there)) {
    names += (names.empty() ? "" : ", ") + each;
  }
  if (names.empty()) return std::nullopt;
  return Error{Code::corrupt, "sqlite.open",
               std::string(is_there ? path + " is an empty file" : "there is no " + path) +
                   ", but what belongs to an office is beside it: " + names +
                   "; the office was lost or cut off, and nothing was changed; to have it back, "
                   "move office.db-wal and payloads.db away if they are there and restore "
                   "office.db from a backup; to begin anew, move all of these to another place" +
                   (is_there ? ", office.db too" : "")};
}

Result<void> make_directory(const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (!failure) return {};
  return Error{Code::refused, "sqlite.open",
               "cannot create the data directory " + directory + ": " + failure.message() +
                   "; create it, or choose one this user may write to"};
}

const char* writer_settings() noexcept {
  return settings;
}

void look_for_damage(const std::string& directory, Damage& damage) {
  const std::string path = directory + "/office.db";
  if (!has_bytes(path)) return;
  const auto looked = look_through(directory, first_look);
  if (!looked || looked->damage.empty()) return;
  damage.note({Code::corrupt, "sqlite.open",
               path + " is damaged (" + looked->damage + "); " + after_damage(path)});
}

std::unique_ptr<Connection> open_current(const std::string& path, const Damage& damage) {
  auto db = std::make_unique<Connection>(path, Access::create);
  db->leave_log(true);
  const std::int64_t have = schema_version(*db);  // refuses what is not ours
  require_writable(*db, path);
  if (damage.found()) {
    if (have < office_migrations().back().version) damage.refuse();
  } else {
    db->run("PRAGMA journal_mode = WAL");
  }
  db->run(settings);
  db->run("PRAGMA temp_store = FILE");  // a migration may have to sort everything there is
  migrate(*db, office_migrations());
  db->run("PRAGMA temp_store = MEMORY");
  return db;
}

Access reading_access(const std::string& path) {
  std::error_code ignored;
  const bool has_log = std::filesystem::exists(path + "-wal", ignored);
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const bool writable = ::access(directory.c_str(), W_OK) == 0;
  // Where nothing may be written, not even a reader's marks, a file without a log is read as is.
  return has_log || writable ? Access::read_only : Access::immutable;
}

}  // namespace dlo::sqlite
