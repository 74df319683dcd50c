#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/store/change.h"
#include "dlo/store/query.h"
#include "dlo/store/sqlite/session.h"

namespace dlo::sqlite {

/// A list of changes and what the asking thread made ready for it.
struct PreparedList {
  std::span<const Change> changes;
  std::vector<std::optional<PreparedAppend>> appends;  // one per change
  std::size_t bytes = 0;                               // about how much it will write
};
/// invalid_argument: a change that no state of the office could accept.
[[nodiscard]] Result<PreparedList> prepare(std::span<const Change> changes);

/// Carries out a list in the transaction under way. An error is about the list, not the office;
/// what earlier changes of it wrote is still there, for the caller to undo. Throws `Failed`.
[[nodiscard]] Result<std::vector<Applied>> carry_out(Session& session, const PreparedList& list);

/// A lease that was handed out. The record's message and facts are still to be read.
struct Leased {
  Head head;  // as after the claim
  Status was = Status::waiting;
};
[[nodiscard]] std::vector<Leased> lease_due(Session& session, std::size_t limit, TimePoint now,
                                            Millis lease_for, const ClaimFrom& from);
[[nodiscard]] std::vector<bool> renew_leases(Session& session, std::span<const LeaseToken> leases,
                                             TimePoint now, Millis lease_for);

}  // namespace dlo::sqlite
