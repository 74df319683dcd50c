#pragma once

#include <cstdint>

namespace dlo {

/// How carefully a replay begins: a few first, and more only while enough of them stay cured.
struct RampRule {
  std::uint64_t canary = 0;            // the first wave; 0: everything at once
  std::uint32_t success_percent = 95;  // of those sent, that must not come back
};

/// What became of those that were sent so far.
struct RampTally {
  std::uint64_t sent = 0;
  std::uint64_t cured = 0;     // verified or presumed (R24)
  std::uint64_t returned = 0;  // died again
};

struct RampStep {
  enum class Kind : std::uint8_t { send, wait, stop };
  Kind kind = Kind::send;
  std::uint64_t most = UINT64_MAX;  // that may be sent now
  bool operator==(const RampStep&) const = default;
};

/// Waves of canary, 4, 16 and 64 times as many in all, each after the outcome of everything before
/// it is known, then the rest. Stops as soon as so many came back that the share cannot be reached
/// any more: counted against all that were sent, since a failure is known sooner than a cure.
[[nodiscard]] RampStep next_wave(const RampRule& rule, const RampTally& tally) noexcept;

}  // namespace dlo
