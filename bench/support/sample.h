#pragma once

#include <cstdint>
#include <vector>

#include "dlo/store/change.h"

namespace dlo::bench {

/// The n-th of a stream of realistic dead letters: 1 KB of JSON, three attempts, an error line of
/// about 90 bytes, 20 sources, 300 groups, 30 event types, keys and message ids nearly unique.
/// The same n gives the same letter.
[[nodiscard]] Append sample(std::uint64_t n);

[[nodiscard]] std::vector<Change> samples(std::uint64_t first, std::size_t count);

}  // namespace dlo::bench
