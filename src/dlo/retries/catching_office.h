#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "dlo/store/passing_office.h"

namespace dlo {

/// An office that may break its word and throw: that is then an error like any other, so a cycle
/// which throws does not end whoever runs it (R2-7). Whether it had an effect is not known.
/// Threads  As `Office`.
class CatchingOffice final : public PassingOffice {
 public:
  explicit CatchingOffice(Office& inner) : PassingOffice(inner) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override {
    return caught([&] { return PassingOffice::apply(changes); });
  }
  Result<RecordDetail> get(const RecordId& id) override {
    return caught([&] { return PassingOffice::get(id); });
  }
  Result<Page> list(const Query& query) override {
    return caught([&] { return PassingOffice::list(query); });
  }
  Result<Aggregate> aggregate(const AggregateRequest& request) override {
    return caught([&] { return PassingOffice::aggregate(request); });
  }
  Result<std::vector<Claim>> claim(std::size_t limit, TimePoint now, Millis lease_for,
                                   const ClaimFrom& from) override {
    return caught([&] { return PassingOffice::claim(limit, now, lease_for, from); });
  }
  Result<std::vector<bool>> renew(std::span<const LeaseToken> leases, TimePoint now,
                                  Millis lease_for) override {
    return caught([&] { return PassingOffice::renew(leases, now, lease_for); });
  }

 private:
  template <typename Body>
  static auto caught(const Body& body) -> decltype(body()) {
    try {
      return body();
    } catch (const std::exception& thrown) {
      return thrown_error(thrown.what());
    } catch (...) {
      return thrown_error("something unknown");
    }
  }
  static Error thrown_error(const std::string& what) {
    return {Code::timed_out, "retries.office",
            "the office threw \"" + what + "\"; it is asked again; please report it"};
  }
};

}  // namespace dlo
