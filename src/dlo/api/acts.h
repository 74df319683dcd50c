#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dlo/api/retry_waits.h"
#include "dlo/api/router.h"
#include "dlo/retries/fallback_shelf.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// What people do to one dead letter. Every act is one compare-and-set with its audit entry in the
/// same write: an act that is refused changes nothing, and If-Match refuses one that was decided on
/// an older version (412).
///   POST /v1/dead-letters/{id}/resolve   {by, how, notes}; a second one is refused
///   POST /v1/dead-letters/{id}/archive   {notes}
///   POST /v1/dead-letters/{id}/discard   {notes}; can be restored until its grace time ends
///   POST /v1/dead-letters/{id}/restore   {notes}; back to the state it had
///   POST /v1/dead-letters/{id}/retry     {notes}; due now for the executor of its source;
///                                        wait_ms: the answer says what came of it
///   PUT  /v1/dead-letters/{id}/tags      {tags}
///   POST /v1/dead-letters/{id}/notes     {by, text}
struct ActParts {
  Office& office;
  /// Whether somebody here runs messages of that source, so that a retry makes sense.
  std::function<bool(const std::string&)> has_executor;
  const FallbackShelf& shelf;  // of records that are not in the office yet
  RetryWaits& waits;
  std::string no_retries;  // why nothing that is due is run here, for people; empty: see above
};
[[nodiscard]] std::vector<Route> act_routes(const ActParts& parts);

}  // namespace dlo::api
