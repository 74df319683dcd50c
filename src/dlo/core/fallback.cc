#include "dlo/core/fallback.h"

#include "dlo/core/retention.h"

namespace dlo {

bool falls_back(StoreFailure what, Code met) noexcept {
  return what == StoreFailure::memory_fallback && is_retryable(met);
}

bool fits_in_memory(const Capacity& capacity, std::uint64_t open, const Usage& held,
                    std::uint64_t size) noexcept {
  constexpr Capacity bounds{most_in_memory, most_bytes_in_memory};
  if (room_for(bounds, held, size) == Room::none) return false;
  return places_left(capacity, {open, 0}) > held.records;
}

}  // namespace dlo
