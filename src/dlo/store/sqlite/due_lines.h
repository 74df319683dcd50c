#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// The first source, not before `?`, of which something is scheduled.
inline constexpr std::string_view due_source_after =
    "SELECT source FROM records INDEXED BY records_due_source"
    " WHERE due_at IS NOT NULL AND source >= ? ORDER BY source LIMIT 1";

/// Calls `visit` with every source of which something is scheduled. One step down the index each,
/// however many records a source has. `statement` is `due_source_after`.
template <typename Visit>
void each_due_source(Statement& statement, const Visit& visit) {
  for (std::string from;;) {
    std::string source;
    {
      statement.bind(from);
      Rows rows(statement);
      if (!rows.next()) return;
      source = rows->text(0);
    }
    visit(source);
    from = std::move(source);
    from += '\0';  // the least text after it
  }
}

}  // namespace dlo::sqlite
