#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// One step from a schema version to the next. Steps are only ever added at the end.
struct Migration {
  std::int64_t version;
  std::string_view what;
  std::string_view sql;
  void (*define)(Connection&) = nullptr;  // functions that the SQL uses
};
[[nodiscard]] std::span<const Migration> office_migrations() noexcept;

/// The version a file has; 0 for an empty file. Throws `Failed` (corrupt) if it is not an office.
[[nodiscard]] std::int64_t schema_version(Connection& db);

/// Brings a file up to the last of `steps`, each step in a transaction of its own, so that a crash
/// leaves the file at a step. Throws `Failed` (refused) if the file is newer than this program.
void migrate(Connection& db, std::span<const Migration> steps);

/// Refuses a file newer or older than this program reads; changes nothing.
void require_current(Connection& db, std::span<const Migration> steps);

}  // namespace dlo::sqlite
