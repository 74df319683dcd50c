#pragma once

#include "dlo/broker/rabbitmq/rabbit_options.h"
#include "dlo/core/result.h"

namespace dlo {

/// Whether its user may send to queues: a message for a queue that nobody has is either returned or
/// refused, and nobody gets it. The error says what to do.
[[nodiscard]] Result<void> may_send_to_queues(const RabbitServer& server);

}  // namespace dlo
