#pragma once

#include <span>
#include <vector>

#include "dlo/retries/dependencies.h"
#include "dlo/store/passing_office.h"

namespace dlo {

/// An office whose tasks wait for each other, whoever ends or releases one: a retry that worked, a
/// person, a job. What still has to wait is never handed out.
/// Threads  As `Office`.
class DependencyOffice final : public PassingOffice {
 public:
  /// References outlive it.
  DependencyOffice(Office& inner, Dependencies& dependencies)
      : PassingOffice(inner), dependencies_(dependencies) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override;

 private:
  Dependencies& dependencies_;
};

}  // namespace dlo
