#pragma once

#include <cstdint>

#include "dlo/core/error.h"
#include "dlo/core/profile.h"

namespace dlo {

struct Usage;  // retention.h

// Reports that the office cannot take just now (S2-2, R2-10).

/// Whether such a report is kept in memory until the office writes again. Only what may pass: who
/// is told that a report is wrong is told so at once.
[[nodiscard]] bool falls_back(StoreFailure what, Code met) noexcept;

/// Whether one more of `size` bytes may be kept there, beside those that are `held`. They count
/// towards the capacity as if they were in the office, which has `open` of them; and what memory
/// holds is bounded whatever a profile allows.
[[nodiscard]] bool fits_in_memory(const Capacity& capacity, std::uint64_t open, const Usage& held,
                                  std::uint64_t size) noexcept;

inline constexpr std::uint64_t most_in_memory = 100'000;
inline constexpr std::uint64_t most_bytes_in_memory = 64ULL * 1024 * 1024;

}  // namespace dlo
