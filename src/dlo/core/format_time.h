#pragma once

#include <string>

#include "dlo/core/time.h"

// For people and for wire forms. What our own formats write and read is in core/encoding.h.

namespace dlo {

/// `2026-01-02T10:30:45.1230000Z`: the round-trip form of .NET, always seven fraction digits
/// (S4-15).
[[nodiscard]] std::string to_iso8601_ticks(TimePoint time);

/// `2026-01-02T10:30:45Z`, `2026-01-02T10:30:45.5Z`: only as many fraction digits as needed
/// (S4-16).
[[nodiscard]] std::string to_iso8601_short(TimePoint time);

/// The two largest units that are not zero: `2 d 4 h`, `3 min 20 s`, `1.5 s`, `120 ms`. Cut, never
/// rounded up: nothing is older than it says. Negative ones get a minus.
[[nodiscard]] std::string human_duration(Millis duration);

}  // namespace dlo
