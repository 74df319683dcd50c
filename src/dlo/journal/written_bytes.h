#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/journal/segments.h"

namespace dlo {

/// Shows [from, until) of a segment a window at a time, but for windows of zeros. Each reaches
/// `overlap` bytes into the next, and `look` answers whether to go on. A file may be terabytes long
/// and hold next to nothing: holes are passed without being read.
using LookAtWindow = std::function<Result<bool>(std::uint64_t base, std::string_view bytes)>;
inline constexpr std::uint64_t window_size = 1U << 20U;
[[nodiscard]] Result<void> look_through(Segment& segment, std::uint64_t from, std::uint64_t until,
                                        std::size_t overlap, const LookAtWindow& look);

/// From the first byte that is not zero to behind the last one.
struct WrittenBytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
[[nodiscard]] Result<std::optional<WrittenBytes>> written_bytes(Segment& segment,
                                                                std::uint64_t from,
                                                                std::uint64_t until);

}  // namespace dlo
