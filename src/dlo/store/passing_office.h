#pragma once

#include <span>
#include <vector>

#include "dlo/store/office.h"

namespace dlo {

/// Passes every call on to another office: a base for those that look at one or two of them.
/// Threads  As `Office`.
class PassingOffice : public Office {
 public:
  /// The other one outlives it.
  explicit PassingOffice(Office& inner) : inner_(inner) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    return inner_.apply(changes);
  }
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

 protected:
  [[nodiscard]] Office& inner() noexcept { return inner_; }

 private:
  Office& inner_;
};

}  // namespace dlo
