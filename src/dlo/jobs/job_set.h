#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/jobs/job.h"
#include "dlo/store/office.h"

namespace dlo {

/// The next records of a job.
struct JobSlice {
  std::vector<RecordHead> rows;  // at most as many as were asked for; perhaps none
  std::optional<JobPlace> next;  // present: there may be more
  bool partial = false;          // it took long: rather go on later
};

/// Reads on in the frozen set of a job, from `after`. What matches its query comes in its order; of
/// what another job did (`from_job`) the items are walked, in order of ids, or, where keys must
/// keep their order, everything by death. Memory is that of one slice, however large the set is.
/// not_found if the job that `from_job` names is gone.
[[nodiscard]] Result<JobSlice> read_slice(Office& office, const Job& job, const JobPlace& after,
                                          std::size_t limit);

/// How many records a job is about, counted to the end, unlike a preview.
[[nodiscard]] Result<std::uint64_t> count_set(Office& office, const Job& job);

/// What an item is called to others: "sent" of "sent 2 …".
[[nodiscard]] std::string_view outcome_name(std::string_view item) noexcept;

/// What `outcome` of a `from_job` may be: one of the outcomes, or `failed`, which are several.
[[nodiscard]] const std::vector<std::string_view>& selectable_outcomes();
[[nodiscard]] bool is_selected(std::string_view wanted, std::string_view outcome) noexcept;

}  // namespace dlo
