#pragma once

#include <optional>

#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo::cli {

/// The newest entry of the audit trail; nothing if there is none. Found in as many looks as its
/// number has bits, twice.
[[nodiscard]] Result<std::optional<AuditEntry>> audit_head(Office& office);

}  // namespace dlo::cli
