#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlo {

enum class ConsumerState : std::uint8_t {
  starting,     // it has not heard of its queue yet
  working,      // or would, if something were there
  paused,       // by a person: nothing is taken, nothing is run
  broker_down,  // its queue cannot be read; it goes on by itself
  office_down,  // the office takes nothing: what failed stays in its queue, nothing more is taken
  copies_refused,  // its dead-letter queue takes nothing: what died stays in its queue meanwhile
  stopped,
};
[[nodiscard]] std::string_view name_of(ConsumerState state) noexcept;

struct ConsumerStatus {
  ConsumerState state = ConsumerState::starting;
  bool paused = false;          // or about to be
  std::uint64_t received = 0;   // since the start, as are; from the queue
  std::uint64_t succeeded = 0;  // ... or after they had waited in the office
  std::uint64_t retried = 0;    // failures that are run again
  std::uint64_t dead = 0;
  std::uint64_t repeated = 0;  // handed out again: the office had them already
  std::uint64_t dropped = 0;   // legal losses: the profile drops what is malformed
  std::uint64_t in_flight = 0;
  std::string trouble;  // empty: none
};

}  // namespace dlo
