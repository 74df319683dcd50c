#pragma once

#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// `collectors.NAME`: a dead-letter queue to be drained into the office, such as
/// `{rabbitmq: orders.dead, source: orders, profile: booking}`. Read after the profiles. Fills
/// `reading.config.collectors`; whatever is wrong is a problem.
void read_collectors(const TextNode& section, ConfigReading& reading);

}  // namespace dlo
