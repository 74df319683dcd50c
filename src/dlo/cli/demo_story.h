#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dlo/core/message.h"
#include "dlo/engine/handler_table.h"

namespace dlo::cli {

/// The five fates of the demo. The event type of a message says which one it has.
enum class Fate : std::uint8_t { good, transient, permanent, poison, crashing };
[[nodiscard]] std::string_view name_of(Fate fate) noexcept;

/// `count` messages, the same for the same seed; at least one of every fate.
[[nodiscard]] std::vector<MessagePtr> demo_messages(std::uint64_t count, std::uint64_t seed);

/// Handlers that do to each message what its fate says. Crashing ones run a real child process
/// that dies of a real signal.
[[nodiscard]] Result<HandlerTable> demo_handlers();

}  // namespace dlo::cli
