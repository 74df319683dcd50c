#pragma once

#include <cstdint>

#include "dlo/store/query.h"
#include "dlo/store/sqlite/readers.h"
#include "dlo/store/sqlite/row_filter.h"

namespace dlo::sqlite {

/// What the tallies say about a query: how many rows each filter would leave to a lead. Leads walk
/// whole classes of status, except the status index.
struct Estimates {
  bool nothing_fits = false;
  std::uint64_t by_status = 0;
  std::uint64_t by_source = 0;
  std::uint64_t by_category = 0;
  std::uint64_t all = 0;
};

/// Reads the tallies once, and only the first few thousand of them: with more, which index leads
/// is a guess, and it is still a good one.
[[nodiscard]] Estimates read_estimates(Readers::Turn& turn, const Query& query,
                                       const RowFilter& filter);

}  // namespace dlo::sqlite
