#pragma once

#include "dlo/core/text_tree.h"

namespace dlo {

struct ConfigReading;

/// `outboxes.NAME`: an outbox table whose rows are sent, such as `{postgres: 'postgresql://…',
/// table: shop.events, to: 'amqp:events/{type}', profile: booking-outbox}`. Read after the
/// profiles. Fills `reading.config.outboxes`; whatever is wrong is a problem. Addresses are never
/// repeated.
void read_outboxes(const TextNode& section, ConfigReading& reading);

}  // namespace dlo
