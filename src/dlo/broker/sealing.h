#pragma once

#include <span>
#include <string>
#include <vector>

#include "dlo/broker/broker.h"
#include "dlo/core/result.h"
#include "dlo/core/sealed.h"

namespace dlo::queued {

// With a key, queues of our own see sealed bodies and error texts only (R26): they are sealed on
// the way in and opened on the way out, so that journal, checkpoints, repairs and tables need to
// know nothing of keys.

/// A message's body is bound to what the queue knows the message by.
[[nodiscard]] std::string owner_of(const Message& message);

[[nodiscard]] Result<std::vector<Publication>> seal(const Sealer& sealer,
                                                    std::span<const Publication> messages);
[[nodiscard]] Result<std::vector<Settlement>> seal(const Sealer& sealer,
                                                   std::span<const Settlement> settlements);

/// What does not open is handed out as undecodable, so that it blocks nobody.
void open(const Sealer& sealer, std::vector<Delivery>& deliveries);
[[nodiscard]] Result<MessagePtr> open(const Sealer& sealer, const MessagePtr& message);
[[nodiscard]] Result<std::string> open_error(const Sealer& sealer, const std::string& error);

}  // namespace dlo::queued
