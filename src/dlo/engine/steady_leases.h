#pragma once

#include <mutex>
#include <unordered_map>

#include "dlo/engine/clock.h"
#include "dlo/store/passing_office.h"

namespace dlo {

/// An office judges leases by the wall clock, which other processes share. If that is set forward,
/// every lease this process took would be over although no time has passed. So this one remembers
/// them, and extends the live ones by the jump before anybody is judged by the new time.
/// Threads  As `Office`. Nothing is held while an office works, but for the extension itself.
class SteadyLeases final : public PassingOffice {
 public:
  /// References outlive it.
  SteadyLeases(Office& inner, const Clock& clock) : PassingOffice(inner), clock_(clock) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override;
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override;

 private:
  Result<void> follow_the_clock();
  Result<void> extend(TimePoint before, Millis by);
  void lives_until(const LeaseToken& lease, TimePoint until);

  const Clock& clock_;
  std::mutex mutex_;
  Millis ahead_ = ahead_of(clock_.instant());  // of the wall clock, when leases were last right
  std::unordered_map<LeaseToken, TimePoint> live_;
  std::size_t look_for_dead_at_ = 1'024;

  static Millis ahead_of(const Instant& now) noexcept { return now.wall - now.steady; }
};

}  // namespace dlo
