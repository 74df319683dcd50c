#include "dlo/engine/held.h"

#include <cstddef>

namespace dlo {
namespace {

constexpr Millis time_to_write{5'000};  // that a lease must last while the office is told

}  // namespace

Result<std::vector<bool>> hold_on(Broker& source, std::span<const HeldLease> leases,
                                  const Instant& now) {
  std::vector<LeaseToken> ending;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (leases[i].until - now.steady >= time_to_write) continue;
    places.push_back(i);
    ending.push_back(leases[i].token);
  }
  std::vector<bool> ours(leases.size(), true);
  if (ending.empty()) return ours;
  const auto live = source.renew(ending, now, time_to_write);
  if (!live) return live.error();
  for (std::size_t i = 0; i < places.size(); ++i) ours[places[i]] = (*live)[i];
  return ours;
}

}  // namespace dlo
