#pragma once

#include "dlo/core/id.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo {

/// What to write along with an act that ends a record, so that a restore knows the way back.
[[nodiscard]] PutDocument remember_status(const RecordId& id, Status status);

/// The status a restore goes back to: `pending` if nobody remembered.
[[nodiscard]] Result<Status> former_status(Office& office, const RecordId& id);

}  // namespace dlo
