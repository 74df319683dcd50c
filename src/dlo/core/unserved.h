#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlo {

/// What a live message that waits in the office dies of if nobody runs the messages of its source
/// any more, and somebody gives it up (R9: every state has an exit).
inline constexpr std::string_view unserved_reason = "unserved";

[[nodiscard]] inline std::string unserved_description(std::string_view source) {
  return "It waited for its next attempt, and nobody runs the messages of \"" +
         std::string(source) + "\" any more.";
}

/// What whoever looks after a server is told of such messages.
[[nodiscard]] inline std::string unserved_trouble(std::uint64_t count) {
  return (count == 1 ? "1 message waits" : std::to_string(count) + " messages wait") +
         " in the office for their next attempt, and nothing here runs messages of this source: "
         "name it in the configuration again under this name, or make dead letters of them (dlo "
         "source give-up)";
}

}  // namespace dlo
