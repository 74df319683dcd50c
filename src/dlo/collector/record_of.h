#pragma once

#include <string>

#include "dlo/broker/broker.h"
#include "dlo/collector/letter.h"
#include "dlo/core/dead_letter.h"
#include "dlo/engine/procedure.h"

namespace dlo {
struct CollectorOptions;
}

namespace dlo::collector {

/// A delivery of a dead-letter queue as the failure it was: the message as it is kept, counts and
/// times as they are told.
struct Opened {
  Letter letter;
  Delivery delivery;
};
[[nodiscard]] Opened open_letter(const Delivery& found, const CollectorOptions& options,
                                 TimePoint now);

/// What the procedure cannot know: it decided as of now, the failure was earlier and elsewhere.
void complete(Plan& plan, const Opened& opened, const CollectorOptions& options);

}  // namespace dlo::collector
