#pragma once

#include <optional>
#include <string>

#include "dlo/broker/broker.h"
#include "dlo/core/abandon.h"
#include "dlo/core/dead_letter.h"

namespace dlo {

/// A run that an abandon ends.
struct AbandonedRun {
  Counters counters;    // its start counted
  TimePoint started{};  // when
};

/// How the source is told of an abandon that releases the item. What `is_execution` is kept with
/// the message as an attempt, so that the record it may become has a row for every one of them;
/// an abandon that gives no reason leaves a row without one. Empty `run`: it was not started. A
/// limit of the call goes with it, to the check before its next run, and so do the counters that
/// were `decided`: they know of runs that were cut off before, of which its source knows nothing.
[[nodiscard]] Abandoned release_of(const Delivery& delivery, const AbandonOptions& options,
                                   const AbandonDecision& decided,
                                   const std::optional<AbandonedRun>& run, TimePoint now,
                                   const std::string& node);

}  // namespace dlo
