#pragma once

#include <functional>
#include <vector>

#include "dlo/api/router.h"
#include "dlo/broker/own_queues.h"
#include "dlo/nodes/node.h"
#include "dlo/store/watched_office.h"

namespace dlo::api {

/// What `/healthz` and `/readyz` look at. References outlive the routes.
struct HealthParts {
  WatchedOffice& office;
  const OwnQueues* queues;  // null: there are none
  std::function<bool()> stopping;
  std::function<NodeStatus()> node{};  // empty: it is alone with its office
};
[[nodiscard]] std::vector<Route> health_routes(const HealthParts& parts);

}  // namespace dlo::api
