#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "dlo/api/router.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Whether somebody here runs messages of that source.
using IsServed = std::function<bool(const std::string&)>;

/// How many live messages the office keeps of each source, and of those that nobody runs here.
[[nodiscard]] Result<std::map<std::string, std::uint64_t>> live_by_source(Office& office);
[[nodiscard]] Result<std::map<std::string, std::uint64_t>> left_behind(Office& office,
                                                                       const IsServed& served);

/// Messages that wait for a source which was renamed, or is gone from the configuration.
///   POST /v1/sources/{source}/give-up   {count}; they become dead letters, some at a time
[[nodiscard]] Route give_up_route(Office& office, IsServed served);

}  // namespace dlo::api
