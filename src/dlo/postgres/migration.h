#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/postgres/connection.h"

namespace dlo::postgres {

/// One step of a schema: statements, carried out once.
struct Step {
  std::int64_t version;
  const char* what;
  std::string_view sql;
};

/// What somebody keeps in a schema of its own, and the steps that make it.
struct Holding {
  std::string schema;
  const char* what;  // as people call it: "queues"
  std::span<const Step> steps;
};

/// What can be the name of a schema: lower-case letters, digits and _, no digit first.
[[nodiscard]] Result<void> check_schema_of(const Holding& holding);

/// Brings the schema to the newest step, and makes it if there is none. One program at a time:
/// others wait for its lock. Throws `Failed` (refused) where the schema is newer than this program,
/// or holds tables of somebody else.
void bring_up_to_date(Connection& connection, const Holding& holding);

}  // namespace dlo::postgres
