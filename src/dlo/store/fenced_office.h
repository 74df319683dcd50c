#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dlo/store/passing_office.h"

namespace dlo {

/// The document that says who leads among several programs on one office, and the version it has as
/// long as it is this one.
inline constexpr const char* leader_kind = "node";
inline constexpr const char* leader_key = "leader";

/// An office as the one who leads writes it: every list says on which term it relies, and is
/// refused (`unavailable`, with nothing written) once another program has begun a later one,
/// however long this one slept. Reading, claims and renewals pass: leases have tokens of their own.
/// Threads  As `Office`.
class FencedOffice final : public PassingOffice {
 public:
  /// `term`: the version of the leader's document. The other one outlives it.
  FencedOffice(Office& inner, std::uint64_t term) : PassingOffice(inner), term_(term) {}

  Result<std::vector<Applied>> apply(std::span<const Change> changes) override;

 private:
  const std::uint64_t term_;
};

}  // namespace dlo
