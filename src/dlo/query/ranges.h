#pragma once

#include <cstdint>
#include <optional>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/query/terms.h"

namespace dlo::query {

/// `first <= value < end`; absent: no bound on that side.
template <typename T>
struct Bounds {
  std::optional<T> first;
  std::optional<T> end;
};

/// Whether a duration points back from now (ages) or ahead (retries to come).
enum class Direction : std::uint8_t { back, ahead };

// `>x`, `>=x`, `<x`, `<=x`, `a..b` (both ends belong to it), `a..`, `..b`, `x`. Errors have no
// column: the caller knows the place.

/// Whole numbers that fit into 32 bits.
[[nodiscard]] Result<Bounds<std::uint64_t>> number_bounds(const Value& value);
/// Durations, as distances from `now`: `>2d` back is longer ago than two days.
[[nodiscard]] Result<Bounds<TimePoint>> duration_bounds(const Value& value, TimePoint now,
                                                        Direction direction);
/// Dates (whole days, UTC) and RFC 3339 times: `>x` is later than x. Durations as above.
[[nodiscard]] Result<Bounds<TimePoint>> time_bounds(const Value& value, TimePoint now,
                                                    Direction direction);

}  // namespace dlo::query
