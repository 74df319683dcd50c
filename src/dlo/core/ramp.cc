#include "dlo/core/ramp.h"

#include <algorithm>
#include <array>

namespace dlo {

RampStep next_wave(const RampRule& rule, const RampTally& tally) noexcept {
  if (rule.canary == 0) return {};
  const std::uint32_t allowed = 100 - std::min<std::uint32_t>(rule.success_percent, 100);
  // returned / sent > allowed / 100, without overflow
  const auto share = static_cast<long double>(tally.returned) * 100;
  if (share > static_cast<long double>(tally.sent) * allowed) return {RampStep::Kind::stop, 0};
  constexpr std::array<std::uint64_t, 4> factors = {1, 4, 16, 64};
  for (const std::uint64_t factor : factors) {
    const std::uint64_t bound =
        rule.canary > UINT64_MAX / factor ? UINT64_MAX : rule.canary * factor;
    if (tally.sent < bound) return {RampStep::Kind::send, bound - tally.sent};
    if (tally.cured + tally.returned < bound) return {RampStep::Kind::wait, 0};
  }
  return {};
}

}  // namespace dlo
