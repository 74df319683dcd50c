#pragma once

#include <string_view>

namespace dlo {

/// How the dedupe id of every replay begins: queues keep those longer than the ids of senders.
inline constexpr std::string_view replay_id_prefix = "dlo-replay";

}  // namespace dlo
