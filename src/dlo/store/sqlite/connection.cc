#include "dlo/store/sqlite/connection.h"

#include <array>
#include <sqlite3.h>
#include <sys/stat.h>
#include <utility>

#include "dlo/store/sqlite/permission.h"

namespace dlo::sqlite {
namespace {

std::array<unsigned char, 16> bytes_of(const Id128& id) noexcept {
  std::array<unsigned char, 16> bytes{};
  for (unsigned i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(id.high >> (56U - 8U * i));
    bytes[8 + i] = static_cast<unsigned char>(id.low >> (56U - 8U * i));
  }
  return bytes;
}

std::string file_of(sqlite3* db) {
  const char* name = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");
  return name == nullptr || *name == '\0' ? "the office" : std::string(name);
}

std::string what_to_do(Code code, const std::string& file) {
  switch (code) {
    case Code::disk_full:
      return "nothing was changed; make room on the disk that holds " + file + " and try again";
    case Code::full:
      return "nothing was changed; free some memory, or ask for less at once";
    case Code::refused:
      return "nothing was changed; make " + file + " and its directory writable for this user";
    case Code::corrupt:
      return after_damage(file);
    case Code::unavailable:
    case Code::timed_out:
      return "nothing was changed; look at the disk and at " + file + ", then try again";
    case Code::invalid_argument:
      return "nothing was changed; a single value can hold at most 1 GB";
    case Code::not_found:
    case Code::lease_lost:
    case Code::conflict:
      break;
  }
  return "nothing was changed";
}

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return Code::disk_full;
    case SQLITE_NOMEM:
      return Code::full;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Code::refused;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Code::corrupt;
    case SQLITE_TOOBIG:
      return Code::invalid_argument;
    default:
      return Code::unavailable;
  }
}

bool log_holds_something(sqlite3* db) noexcept {
  const char* name = sqlite3_db_filename(db, "main");
  if (name == nullptr || *name == '\0') return false;
  struct stat log{};
  return ::stat(sqlite3_filename_wal(name), &log) == 0 && log.st_size > 0;
}

/// A path inside a URI: `?`, `#` and `%` would end it or mean something else.
std::string uri_of(const std::string& path) {
  static constexpr std::string_view hex = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      uri += c;
    } else {
      uri += {'%', hex[byte >> 4U], hex[byte & 15U]};
    }
  }
  return uri;
}

/// An open that failed has no file name to ask for, and "unable to open" is all that SQLite says.
Error cannot_open(sqlite3* db, int result, const std::string& path, bool writing) {
  if ((result & 0xff) == SQLITE_CANTOPEN || (result & 0xff) == SQLITE_PERM) {
    if (auto lacking = lacking_permission(path, writing)) return std::move(*lacking);
  }
  return explain(db, result, "opening " + path);
}

/// Resets a statement when an error has been made of its message, which a reset takes away.
class Resetting {
 public:
  explicit Resetting(Statement& statement) : statement_(statement) {}
  ~Resetting() { statement_.reset(); }
  Resetting(const Resetting&) = delete;
  Resetting& operator=(const Resetting&) = delete;

 private:
  Statement& statement_;
};

}  // namespace

std::string after_damage(const std::string& file) {
  return "nothing is written to it any more; copy " + file + " and " + file +
         "-wal, if there is one, away, then restore a backup or try `sqlite3 office.db .recover`";
}

Error explain(sqlite3* db, int result, std::string_view doing) {
  const Code code = code_of(result);
  const std::string file = file_of(db);
  const bool no_memory = (result & 0xff) == SQLITE_NOMEM;
  std::string detail = std::string(doing) + " failed on " + file + ": " +
                       (db == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(db)) + " (sqlite " +
                       std::to_string(result) + "); " +
                       (no_memory ? "nothing was changed; free memory or ask for less at once"
                                  : what_to_do(code, file));
  return Error{code, "sqlite", std::move(detail)};
}

Statement::Statement(sqlite3* db, std::string_view sql) : db_(db) {
  const int result = sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (result != SQLITE_OK) throw Failed{explain(db, result, "preparing a statement")};
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) throw Failed{explain(db_, result, "binding a value")};
}
void Statement::bind_number(int place, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, place, value));
}
void Statement::bind_null(int place) {
  check(sqlite3_bind_null(statement_, place));
}
void Statement::bind_at(int place, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(statement_, place, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::bind_at(int place, Bytes value) {
  const char* data = value.view.data() == nullptr ? "" : value.view.data();
  check(sqlite3_bind_blob64(statement_, place, data, value.view.size(), SQLITE_STATIC));
}
void Statement::bind_at(int place, const Id128& value) {
  const auto bytes = bytes_of(value);
  check(sqlite3_bind_blob64(statement_, place, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
}

bool Statement::step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  const Resetting afterwards(*this);  // even if there is no memory for an explanation
  throw Failed{explain(db_, sqlite3_extended_errcode(db_), "a statement")};
}
void Statement::reset() noexcept {
  sqlite3_reset(statement_);
}
void Statement::run() {
  while (step()) {
  }
  reset();
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
std::optional<TimePoint> Statement::maybe_time(int column) const {
  if (is_null(column)) return std::nullopt;
  return time(column);
}
std::string_view Statement::view(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}
Id128 Statement::id(int column) const {
  const std::string_view bytes = view(column);
  Id128 id;
  if (bytes.size() != 16) return id;
  for (std::size_t i = 0; i < 8; ++i) {
    id.high = (id.high << 8U) | static_cast<unsigned char>(bytes[i]);
    id.low = (id.low << 8U) | static_cast<unsigned char>(bytes[8 + i]);
  }
  return id;
}

Connection::Connection(const std::string& path, Access access) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path;
  switch (access) {
    case Access::create:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Access::read_write:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Access::read_only:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Access::immutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = uri_of(path) + "?immutable=1";
      break;
  }
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &opened, flags, nullptr);
  db_.reset(opened);
  if (result != SQLITE_OK) {
    const bool writing = access == Access::create || access == Access::read_write;
    throw Failed{cannot_open(opened, result, path, writing)};
  }
  sqlite3_busy_timeout(opened, busy_patience);
}

void Closer::operator()(sqlite3* db) const noexcept {
  // A log without anything in it is removed: whoever may only read would be in need of it.
  if (leaves_log && log_holds_something(db)) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  sqlite3_close(db);
}

void Connection::run(const std::string& sql) {
  const int result = sqlite3_exec(raw(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result == SQLITE_OK) return;
  // Settings are the first that looks into a file: who reads this chose the file, not the setting.
  const bool settings = sql.starts_with("PRAGMA");
  throw Failed{explain(raw(), result, settings ? "opening the database" : sql.substr(0, 60))};
}
std::int64_t Connection::number(const std::string& sql) {
  Statement statement(raw(), sql);
  return statement.step() ? statement.number(0) : 0;
}
bool Connection::in_transaction() const noexcept {
  return sqlite3_get_autocommit(raw()) == 0;
}
bool Connection::is_read_only() const noexcept {
  return sqlite3_db_readonly(raw(), "main") == 1;
}
std::int64_t Connection::changed_rows() const noexcept {
  return sqlite3_changes64(raw());
}
void Connection::release_memory() noexcept {
  sqlite3_db_release_memory(raw());
}

}  // namespace dlo::sqlite
