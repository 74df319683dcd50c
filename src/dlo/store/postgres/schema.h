#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/postgres/connection.h"

namespace dlo::postgres {

struct Migration {
  std::int64_t version;
  const char* what;
  std::string_view sql;
  void (*fill)(Connection&) = nullptr;  // what SQL cannot say, in the same transaction
};
[[nodiscard]] std::span<const Migration> office_migrations() noexcept;

/// What can be the name of a schema: lower-case letters, digits and _, no digit first.
[[nodiscard]] Result<void> check_schema_name(const std::string& name);

/// The number of the lock that a transaction which writes to this office holds.
[[nodiscard]] std::int64_t writing_lock(const std::string& schema);

/// The statements that make a fresh connection one of this office.
[[nodiscard]] std::string session_settings(const std::string& schema);

/// Brings the schema to the newest step. One program at a time: others wait for its lock. refused:
/// the schema is newer than this program, or not an office.
void migrate(Connection& connection, const std::string& schema, std::span<const Migration> steps);
/// For those who may not write: refused unless the schema is as this program wants it.
void require_current(Connection& connection, const std::string& schema,
                     std::span<const Migration> steps);

}  // namespace dlo::postgres
