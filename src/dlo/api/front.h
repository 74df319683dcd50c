#pragma once

#include <functional>
#include <memory>

#include "dlo/api/router.h"
#include "dlo/core/result.h"
#include "dlo/engine/clock.h"
#include "dlo/server/http_exchange.h"
#include "dlo/server/worker_pool.h"
#include "dlo/store/change.h"

namespace dlo::api {

/// Says who asks, from the request's headers and address; an error refuses it. Runs on I/O threads.
///   refused 401 · timed_out 429 · others as they are
using Access = std::function<Result<Actor>(const HttpRequest&)>;

/// Everybody who reaches a server without tokens is its owner: it listens on loopback only.
[[nodiscard]] Result<Actor> local_access(const HttpRequest& request);

/// Takes every request to its route: path and query taken apart, actor known, role checked, on the
/// threads the route asks for. Refused acts and wrong tokens are told to `refused`.
/// Threads: `handle` from any thread.
class Front {
 public:
  struct Parts {
    Router router;
    const Clock& clock;
    WorkerPool& quick;
    WorkerPool& slow;
    Access access = local_access;
    std::function<void(const AddAudit&)> refused = [](const AddAudit&) {
    };  // keeps what was refused
    const Curtain* curtain = nullptr;
  };
  explicit Front(Parts parts) : parts_(std::move(parts)) {}

  void handle(HttpRequest request, ExchangePtr exchange) const;

  [[nodiscard]] const Router& router() const noexcept { return parts_.router; }

 private:
  void note(const HttpRequest& http, const Actor& actor, TimePoint now,
            const std::string& why) const;

  Parts parts_;
};

}  // namespace dlo::api
