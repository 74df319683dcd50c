#pragma once

#include <span>
#include <vector>

#include "dlo/engine/due_timer.h"
#include "dlo/store/passing_office.h"

namespace dlo {

/// An office that tells a timer when something is scheduled, whoever does it: a report, a person, a
/// job, or a retry that failed.
/// Threads  As `Office`.
class SchedulingOffice final : public PassingOffice {
 public:
  /// References outlive it.
  SchedulingOffice(Office& inner, DueTimer& timer) : PassingOffice(inner), timer_(timer) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;

 private:
  DueTimer& timer_;
};

}  // namespace dlo
