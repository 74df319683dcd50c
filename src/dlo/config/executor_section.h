#pragma once

#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// `executors.NAME`: who runs retries. `{http: URL}`, `{command: PROGRAM ARGUMENTS}` or
/// `{queue: NAME}`, and how. Fills `reading.config.executors`; whatever is wrong is a problem.
void read_executors(const TextNode& section, ConfigReading& reading);

}  // namespace dlo
