#pragma once

#include <vector>

#include "dlo/api/jobs.h"
#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// GET   /v1/groups        the groups seen last, or with most open records (?order=open)
/// GET   /v1/groups/{id}   one of them
/// PATCH /v1/groups/{id}   {status, owner, ticket, notes, tags, snoozed_until}
/// GET   /v1/groups/{id}/trend   deaths by hour and day
/// POST  /v1/groups/{id}/merge   {from}: other groups become part of this one
/// POST  /v1/groups/{id}/split   {fingerprint}: one of them is a group of its own again;
///                               {facet, value, dry_run}: a job makes one of those that have it
/// GET   /v1/groups/{id}/facets  what its newest dead letters have in common
/// GET   /v1/stats         counts by source, status and category, and per source
/// GET   /v1/audit         the hash-chained trail, ?after=NUMBER; NDJSON for export
[[nodiscard]] std::vector<Route> group_routes(Office& office);
[[nodiscard]] std::vector<Route> group_act_routes(const JobParts& parts);
[[nodiscard]] std::vector<Route> book_routes(Office& office);

}  // namespace dlo::api
