#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/error.h"
#include "dlo/core/id.h"
#include "dlo/core/time.h"
#include "dlo/store/sql/failed.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dlo::sqlite {

using namespace sql;  // NOLINT: what every office on SQL shares is at home here

struct Bytes {
  std::string_view view;
};

/// One prepared statement, used by one thread at a time. Bind, step, read; then `reset`.
class Statement {
 public:
  Statement(sqlite3* db, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Bound views must live until the statement has been reset.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    return bind_from(1, values...);
  }
  template <typename... Values>
  Statement& bind_from(int place, const Values&... values) {
    (bind_at(place++, values), ...);
    return *this;
  }
  template <typename Number>
    requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void bind_at(int place, Number value) {
    bind_number(place, static_cast<std::int64_t>(value));
  }
  template <typename Value>
  void bind_at(int place, const std::optional<Value>& value) {
    value ? bind_at(place, *value) : bind_null(place);
  }
  void bind_at(int place, TimePoint value) { bind_number(place, value.time_since_epoch().count()); }
  void bind_at(int place, std::string_view value);
  void bind_at(int place, const std::string& value) { bind_at(place, std::string_view(value)); }
  void bind_at(int place, const char* value) { bind_at(place, std::string_view(value)); }
  void bind_at(int place, Bytes value);
  void bind_at(int place, const Id128& value);

  /// True: a row can be read. False: done.
  bool step();
  void reset() noexcept;
  /// Bind before; carries it out and resets.
  void run();

  [[nodiscard]] std::int64_t number(int column) const;
  template <typename Unsigned>
  [[nodiscard]] Unsigned as(int column) const {
    return static_cast<Unsigned>(number(column));
  }
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] TimePoint time(int column) const { return TimePoint{Millis{number(column)}}; }
  [[nodiscard]] std::optional<TimePoint> maybe_time(int column) const;
  /// Valid until the next step or reset. For text and for bytes.
  [[nodiscard]] std::string_view view(int column) const;
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }
  [[nodiscard]] Id128 id(int column) const;

 private:
  void bind_number(int place, std::int64_t value);
  void bind_null(int place);
  void check(int result) const;

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Resets a statement at the end of a block, also when an error passes through.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(statement) {}
  ~Rows() { statement_.reset(); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  bool next() { return statement_.step(); }
  Statement* operator->() { return &statement_; }
  Statement& operator*() { return statement_; }

 private:
  Statement& statement_;
};

inline constexpr int busy_patience = 5'000;  // milliseconds for locks of others

enum class Access : std::uint8_t { create, read_write, read_only, immutable };

struct Closer {
  bool leaves_log = false;
  void operator()(sqlite3* db) const noexcept;
};

/// One SQLite connection, used by one thread at a time.
class Connection {
 public:
  Connection(const std::string& path, Access access);

  void run(const std::string& sql);
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] sqlite3* raw() const noexcept { return db_.get(); }
  [[nodiscard]] bool in_transaction() const noexcept;
  /// Also where writing was asked for, and the file may only be read.
  [[nodiscard]] bool is_read_only() const noexcept;
  /// How many rows the last statement that wrote changed.
  [[nodiscard]] std::int64_t changed_rows() const noexcept;
  /// Gives cached pages back to the allocator.
  void release_memory() noexcept;
  /// Whether closing leaves what the log holds where it is. Else the last to close folds it into
  /// the database and removes it.
  void leave_log(bool leave) noexcept { db_.get_deleter().leaves_log = leave; }

 private:
  std::unique_ptr<sqlite3, Closer> db_;
};

/// What is true and what to do once a file was found damaged.
[[nodiscard]] std::string after_damage(const std::string& file);

/// What an SQLite result means to a caller, with the file and the next step named.
[[nodiscard]] Error explain(sqlite3* db, int result, std::string_view doing);

}  // namespace dlo::sqlite
