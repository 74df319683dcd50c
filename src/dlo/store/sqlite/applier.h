#pragma once

#include <span>

#include "dlo/store/sql/applier.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {

using PreparedList = sql::PreparedList<Session>;
[[nodiscard]] inline Result<PreparedList> prepare(std::span<const Change> changes) {
  return prepare_list<Session>(changes);
}

}  // namespace dlo::sqlite
