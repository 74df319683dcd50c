#pragma once

#include "dlo/broker/rabbitmq/rabbit_options.h"
#include "dlo/config/config.h"
#include "dlo/core/result.h"

namespace dlo::cli {

/// The RabbitMQ server a configuration names, with the password of its file; checked.
[[nodiscard]] Result<RabbitServer> rabbit_server(const Config& config);

}  // namespace dlo::cli
