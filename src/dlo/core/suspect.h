#pragma once

#include <cstdint>

namespace dlo {

/// How far a message is trusted among its neighbours (R7).
enum class Trust : std::uint8_t {
  full,   // runs with everybody else
  alone,  // it was running when its process died: perhaps it was the one that killed it
  none,   // its process died again while nothing else was running: it is the one
};

/// `interrupted`: its last run was cut off. `was_alone`: that run had the process to itself.
[[nodiscard]] constexpr Trust trust_in(bool interrupted, bool was_alone) noexcept {
  if (!interrupted) return Trust::full;
  return was_alone ? Trust::none : Trust::alone;
}

}  // namespace dlo
