#pragma once

#include <cstdint>
#include <optional>

#include "dlo/cli/context.h"
#include "dlo/core/result.h"
#include "dlo/store/office.h"

namespace dlo::cli {

/// The newest entry of the audit trail; nothing if there is none. Found in as many looks as its
/// number has bits, twice.
[[nodiscard]] Result<std::optional<AuditEntry>> audit_head(Office& office);

/// The head of the audit trail goes to the log, so that a trail whose end was cut off does not fit
/// what others have (R25): at the start, now and then, and at the end.
class HeadLog {
 public:
  HeadLog(Context& context, Office& office) : context_(context), office_(office) {}

  void write();

 private:
  Context& context_;
  Office& office_;
  std::uint64_t last_ = 0;
};

}  // namespace dlo::cli
