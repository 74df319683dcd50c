#pragma once

#include <string>

#include "dlo/api/jobs.h"
#include "dlo/api/request.h"
#include "dlo/server/http.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Which dead letters of a group become one of their own: those that have this value.
struct FacetWanted {
  std::string facet;  // source, type, handler, node, build, key or hour, as facets name them
  std::string value;
  bool dry_run = false;
};

/// Plans and starts the job that does it; later deaths are grouped by their failure, as ever. The
/// new group is named after both, so that doing it again takes along what has come since.
[[nodiscard]] HttpResponse split_by_facet(const JobParts& parts, const Request& request,
                                          const GroupSummary& group, const FacetWanted& wanted);

}  // namespace dlo::api
