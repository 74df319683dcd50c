#include "dlo/engine/steady_leases.h"

#include <algorithm>
#include <map>

#include "dlo/store/rules.h"

namespace dlo {
namespace {

constexpr Millis slack{1'000};  // clocks drift; less than this is no jump

}  // namespace

Result<void> SteadyLeases::follow_the_clock() {
  const Instant now = clock_.instant();
  const std::lock_guard lock(mutex_);
  const Millis by = ahead_of(now) - ahead_;
  if (by < Millis{0}) ahead_ += by;  // set back: then they last a little longer
  if (by <= slack) return {};
  if (auto extended = extend(now.wall - by, by); !extended) return extended;
  ahead_ += by;
  return {};
}

/// Of those that were live at `before`, which is now if nobody had set the clock.
Result<void> SteadyLeases::extend(TimePoint before, Millis by) {
  std::map<TimePoint, std::vector<LeaseToken>> together;
  for (const auto& [lease, until] : live_) {
    if (until > before && until < TimePoint::max() - by) together[until].push_back(lease);
  }
  for (const auto& [until, leases] : together) {
    const auto live = inner().renew(leases, before, until - before + by);
    if (!live) return live.error();  // nothing is judged by the new time until this is done
    for (const LeaseToken& lease : leases) live_[lease] = until + by;
  }
  return {};
}

void SteadyLeases::lives_until(const LeaseToken& lease, TimePoint until) {
  TimePoint& known = live_[lease];
  known = std::max(known, until);
  if (live_.size() < look_for_dead_at_) return;
  const TimePoint now = clock_.now();
  std::erase_if(live_, [&](const auto& each) { return each.second <= now; });
  look_for_dead_at_ = std::max<std::size_t>(1'024, live_.size() * 2);
}

Result<std::vector<Applied>> SteadyLeases::apply(std::span<const Change> changes) {
  if (auto followed = follow_the_clock(); !followed) return followed.error();
  auto applied = inner().apply(changes);
  if (!applied) return applied;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto* move = std::get_if<Transition>(&changes[i]);
    if (move == nullptr) continue;
    if (move->lease && !move->lease_for) live_.erase(*move->lease);
    if (move->lease_for && (*applied)[i].lease) {
      lives_until(*(*applied)[i].lease, lease_end(move->now, *move->lease_for));
    }
  }
  return applied;
}

Result<std::vector<Claim>> SteadyLeases::claim(std::size_t limit, TimePoint now, Millis lease_for,
                                               const ClaimFrom& from) {
  if (auto followed = follow_the_clock(); !followed) return followed.error();
  auto claims = inner().claim(limit, now, lease_for, from);
  if (!claims || claims->empty()) return claims;
  const std::lock_guard lock(mutex_);
  for (const Claim& claim : *claims) lives_until(claim.lease, claim.until);
  return claims;
}

Result<std::vector<bool>> SteadyLeases::renew(std::span<const LeaseToken> leases, TimePoint now,
                                              Millis lease_for) {
  if (auto followed = follow_the_clock(); !followed) return followed.error();
  auto live = inner().renew(leases, now, lease_for);
  if (!live) return live;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if ((*live)[i]) lives_until(leases[i], lease_end(now, lease_for));
  }
  return live;
}

}  // namespace dlo
