#pragma once

#include <cstddef>
#include <stop_token>
#include <string_view>

#include "dlo/core/result.h"
#include "dlo/core/time.h"
#include "dlo/jobs/replay.h"
#include "dlo/store/office.h"

namespace dlo {

/// What the audit trail calls it; its detail names every dead letter.
inline constexpr std::string_view retention_act = "retention.archive";

/// Archives what is exhausted and, by its profile, old enough (S2-45; core/retention.h decides).
/// `restore` brings it back, and then it stays: it is exhausted no longer. In the audit trail, by
/// `office`. Answers how many. Reads every exhausted record, so it is meant for once an hour.
/// What cannot be judged, because nobody knows its profile, stays. Ends early, between two slices,
/// when it is told to stop.
[[nodiscard]] Result<std::size_t> archive_old(Office& office, const ReplayTargets& targets,
                                              TimePoint now, const std::stop_token& stop = {});

}  // namespace dlo
