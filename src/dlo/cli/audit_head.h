#pragma once

#include <cstdint>

#include "dlo/cli/context.h"
#include "dlo/store/office.h"

namespace dlo::cli {

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
