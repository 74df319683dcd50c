#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/api/gatherer.h"
#include "dlo/api/idempotency.h"
#include "dlo/api/report_intake.h"
#include "dlo/api/report_reading.h"
#include "dlo/api/router.h"
#include "dlo/core/classify.h"
#include "dlo/core/profile_book.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/report_desk.h"
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
  struct Parts {
    Office& office;
    const Clock& clock;
    WorkerPool& pool;
    Origin origin;
    ProfileBook rules{};             // until `use` says otherwise
    RegexCompiler regex{};           // for their patterns
    ReportIntake* intake = nullptr;  // never null
    bool enabled = true;             // false: nothing is taken in (S2-9)
  };
  explicit Reports(Parts parts);

  [[nodiscard]] std::vector<Route> routes();

  /// From now on these profiles decide.
  void use(const ProfileBook& rules);

 private:
  struct Pending {
    Reading reading;
    ExchangePtr exchange;
  };
  using Outcome = Result<Reported>;
  using DeskPtr = std::shared_ptr<ReportDesk>;

  /// The desk for a profile whose reports are final or not; refuses an unknown profile.
  [[nodiscard]] Result<DeskPtr> desk(const Reading& reading);
  void take(const Request& request, const ExchangePtr& exchange);
  [[nodiscard]] HttpResponse take_keyed(const Request& request, const IdempotencyKey& key,
                                        Reading reading);
  [[nodiscard]] HttpResponse take_batch(const Request& request);
  void write(std::vector<Pending> pending);
  /// One outcome each. Those that share a desk share a write; if that is refused, each is written
  /// by itself.
  [[nodiscard]] std::vector<Outcome> report_all(const std::vector<Reading*>& readings);
  struct Admitted {
    DeskPtr desk;
    std::optional<Reported> kept_out;  // the strategy does not want it
  };
  [[nodiscard]] Result<Admitted> admit(Reading& reading);
  void report_at(ReportDesk& desk, const std::vector<Reading*>& readings,
                 const std::vector<std::size_t>& places, std::vector<Outcome>& outcomes);

  Parts parts_;
  std::mutex mutex_;
  std::unordered_map<std::string, DeskPtr> desks_;
  Gatherer<Pending> gatherer_;
};

}  // namespace dlo::api
