#pragma once

#include <span>
#include <vector>

#include "dlo/engine/due_timer.h"
#include "dlo/store/office.h"

namespace dlo {

/// An office that tells a timer when something is scheduled, whoever does it: a report, a person, a
/// job, or a retry that failed.
/// Threads  As `Office`.
class SchedulingOffice final : public Office {
 public:
  /// References outlive it.
  SchedulingOffice(Office& inner, DueTimer& timer) : inner_(inner), timer_(timer) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;
  Result<RecordDetail> get(const RecordId& id) override { return inner_.get(id); }
  Result<Page> list(const Query& query) override { return inner_.list(query); }
  Result<Aggregate> aggregate(const AggregateRequest& request) override {
    return inner_.aggregate(request);
  }
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override {
    return inner_.claim(limit, now, lease_for, from);
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override {
    return inner_.renew(leases, now, lease_for);
  }
  Result<std::vector<ChangeNote>> changes_since(std::uint64_t after, std::size_t limit) override {
    return inner_.changes_since(after, limit);
  }
  OfficeExtras extras() noexcept override { return inner_.extras(); }

 private:
  Office& inner_;
  DueTimer& timer_;
};

}  // namespace dlo
