#pragma once

#include <vector>

#include "dlo/api/gatherer.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/report_reading.h"
#include "dlo/api/router.h"
#include "dlo/retries/task_desk.h"
#include "dlo/server/worker_pool.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// POST /v1/dead-letters: failures of other programs, one as JSON or many as NDJSON. The core
/// classifies and decides with the profile named. Without `attempts` the reporter has given up and
/// the message becomes a dead letter; with them the verdict may be `retry`, and nothing is kept.
/// Reports that arrive together are written together. Lines of a batch stand by themselves: a bad
/// one is answered with its number and keeps no other from being stored.
class Reports {
 public:
  /// References outlive it.
  struct Parts {
    Office& office;  // keeps what was answered under a key
    WorkerPool& pool;
    TaskDesk& desk;
  };
  explicit Reports(Parts parts);

  [[nodiscard]] std::vector<Route> routes();

 private:
  struct Pending {
    Reading reading;
    ExchangePtr exchange;
  };

  void take(const Request& request, const ExchangePtr& exchange);
  [[nodiscard]] HttpResponse take_keyed(const Request& request, const IdempotencyKey& key,
                                        Reading reading);
  [[nodiscard]] HttpResponse take_batch(const Request& request);
  /// `final`, unless null: whether a repeat would come to the same.
  [[nodiscard]] HttpResponse take_lines(const Request& request, const IdempotencyKey* key,
                                        bool* final);
  /// Line by line, with every caller's error.
  [[nodiscard]] HttpResponse refuse_batch(const Request& request, const Error& why);
  void write(std::vector<Pending> pending);

  Parts parts_;
  Gatherer<Pending> gatherer_;
};

}  // namespace dlo::api
