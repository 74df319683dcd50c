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

/// Of a message that nobody would know again, so that nobody can write down that it ran alone: how
/// often in a row its runs were cut off. The first was among others, those after it had the process
/// to themselves for as long as a suspect has; two of them are no accident.
[[nodiscard]] constexpr Trust trust_in_nameless(std::uint32_t interruptions) noexcept {
  constexpr std::uint32_t among_others = 1;
  constexpr std::uint32_t alone = 2;
  return trust_in(interruptions > 0, interruptions >= among_others + alone);
}

}  // namespace dlo
