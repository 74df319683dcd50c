#pragma once

#include "dlo/core/result.h"
#include "dlo/store/query.h"
#include "dlo/store/sealed/sealing.h"

namespace dlo {

/// The query as the office behind understands it: tests of declared paths become tests of their
/// tokens. Words of payloads and all other places in a message are refused with the reason, for
/// they are encrypted (R26).
[[nodiscard]] Result<Query> sealed_query(const Sealing& sealing, Query query);

}  // namespace dlo
