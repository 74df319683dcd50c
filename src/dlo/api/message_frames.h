#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/core/result.h"
#include "dlo/engine/pull_desk.h"

namespace dlo::api {

// Messages, length-prefixed, for programs that count microseconds. All numbers little-endian.
//
//   sent       u32 size of what follows · u32 size of the head · head · payload
//   received   u32 size of what follows · 16 bytes lease · u32 attempt · u32 size of the head ·
//              head · payload
//   settled    16 bytes lease · u8 outcome (0 complete, 1 release)
//
// The bytes of a lease are the hex digits that JSON has for it. A head is the JSON of a message
// without its payload; empty where there is nothing to say.

inline constexpr std::string_view frames_type = "application/vnd.dlo.messages";
inline constexpr std::string_view settlements_type = "application/vnd.dlo.settlements";

/// One frame of a batch that is sent. Views into the bytes it was read from.
struct Frame {
  std::string_view head;
  std::string_view payload;
};
/// Refuses a batch that ends in the middle of a frame, or whose sizes contradict each other.
[[nodiscard]] Result<std::vector<Frame>> read_frames(std::string_view bytes);
void append_frame(std::string& out, std::string_view head, std::string_view payload);

[[nodiscard]] std::string handed_frames(const std::vector<PullDesk::Handed>& handed);

[[nodiscard]] Result<std::vector<PullSettlement>> read_settlements(std::string_view bytes);

}  // namespace dlo::api
