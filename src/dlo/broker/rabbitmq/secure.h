#pragma once

#include <amqp.h>
#include <string>

#include "dlo/broker/rabbitmq/rabbit_options.h"
#include "dlo/core/result.h"

namespace dlo::rabbitmq {

/// Reads the files `tls` names. Refused with the file and what is wrong with it.
[[nodiscard]] Result<void> check_files(const RabbitTls& tls);

/// A socket of `state` that speaks TLS and believes who `tls` says: the certificate must lead to
/// a root that is trusted and be made out for the host of `place`.
[[nodiscard]] Result<amqp_socket_t*> secure_socket(amqp_connection_state_t state,
                                                   const Place& place, const RabbitTls& tls);

/// Why a handshake that has just ended with `status` on this thread did not succeed; what to do
/// about it. Empty: it was not about TLS.
[[nodiscard]] std::string why_not_secure(int status, const RabbitTls& tls);

}  // namespace dlo::rabbitmq
