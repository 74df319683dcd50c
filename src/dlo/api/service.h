#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dlo/access/token_book.h"
#include "dlo/api/collected.h"
#include "dlo/api/consumed.h"
#include "dlo/api/curtain.h"
#include "dlo/api/duties.h"
#include "dlo/api/entities.h"
#include "dlo/api/events.h"
#include "dlo/api/front.h"
#include "dlo/api/queue_hall.h"
#include "dlo/api/reports.h"
#include "dlo/api/retries.h"
#include "dlo/api/retry_waits.h"
#include "dlo/broker/broker.h"
#include "dlo/core/classify.h"
#include "dlo/core/profile_book.h"
#include "dlo/core/redirect.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/record.h"
#include "dlo/engine/steady_leases.h"
#include "dlo/nodes/node.h"
#include "dlo/retries/dependency_office.h"
#include "dlo/retries/rounds.h"
#include "dlo/retries/task_desk.h"
#include "dlo/server/http_exchange.h"
#include "dlo/server/worker_pool.h"
#include "dlo/store/office.h"
#include "dlo/store/watched_office.h"

namespace dlo::api {

struct ServiceOptions {
  Origin origin;
  std::string version{};          // of the program, for whoever compares it with his own
  std::size_t quick_threads = 8;  // most of them wait for a sync
  std::size_t slow_threads = 2;
  std::size_t most_waiting = 4'096;  // requests that wait for a thread; more are answered 503
  ProfileBook rules{};
  std::vector<RedirectRule> redirects{};  // of replays that name no target
  RegexCompiler regex{};                  // for patterns in their rules
  bool create_queues = true;  // the first message makes its queue; otherwise they are declared
  EventOptions events{};
  std::uint32_t rate = 0;      // requests a second of tokens without their own; zero: any number
  bool tokens_always = false;  // also while there are none: whoever listens beyond loopback
  bool owner_asks = false;     // no tokens at all: only the owner of the directory can ask
  bool works_on_jobs = true;   // false: jobs are kept, and somebody else does them
  std::vector<FieldPath> masked{};          // shown to nobody without the right to reveal
  WatchedOffice::Told on_office_trouble{};  // the office cannot write, is damaged, or works again
  std::optional<Millis> discard_grace{};    // then what was discarded is removed; empty: never here
  std::optional<Millis> keep_jobs{};        // then jobs that ended are removed; empty: never here
  RetrySettings retries{};
  OutsideTargets outside{};    // of replays
  ListCollected collected{};   // dead-letter queues of others that are drained; empty: none
  ConsumedSources consumed{};  // queues of others that are handled here
  EntityOptions entities{};    // what is retried when somebody asks for it
  ListRelayed relayed{};       // outbox tables of others whose rows are sent; empty: none
  /// Not empty: one of several on this office, which leads when it is told to.
  std::function<NodeStatus()> node{};
};

/// All resources over one office and, if there are any, its queues. References outlive it.
class Service {
 public:
  /// `queues` null: no queues are served.
  Service(Office& office, OwnQueues* queues, const Clock& clock, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// HttpServer::Handle.
  void handle(HttpRequest request, ExchangePtr exchange) {
    front_->handle(std::move(request), std::move(exchange));
  }
  [[nodiscard]] const Router& router() const noexcept { return front_->router(); }

  /// The office as this server writes it: what others write here is seen at once by all it does.
  [[nodiscard]] Office& office() noexcept { return office_; }

  /// Puts messages into a queue of this server, made if it may be; `who` is for the trail. All or
  /// none; a repeat (by `dedupe_id`) is dropped there.
  [[nodiscard]] Result<void> send(const std::string& queue, std::span<const Publication> messages,
                                  const std::string& who, TimePoint now);

  /// Queues that could not be opened.
  [[nodiscard]] std::vector<Error> troubles() const;

  /// How many messages wait in the office for sources that nobody runs here, by source.
  [[nodiscard]] Result<std::map<std::string, std::uint64_t>> unserved();

  /// From now on these profiles decide, everywhere at once, and what is planned to be sent back
  /// goes by these redirects. Refused, with nothing changed, if a queue goes by a profile that is
  /// not among them.
  [[nodiscard]] Result<void> use(const ProfileBook& rules, std::vector<RedirectRule> redirects);
  /// Redirects to what is not there: nothing they are about could be sent.
  [[nodiscard]] std::vector<Error> lost_redirects() const;

  /// For one of several: it does what is done once, written on this term, until it is told to
  /// `yield`.
  void lead(std::uint64_t term);
  void yield();
  [[nodiscard]] bool leads() const { return duties_->are_ours(); }
  /// Looks at what others may have written: what falls due, who may still ask, which queues there
  /// are, what is paused or closed by hand, who waits for whom, jobs.
  void look_at_others();

  /// Answers everybody who waits for messages or listens to events; what comes in is still served.
  void stop_waiting();
  /// Finishes what was taken in.
  void stop();

 private:
  /// What a dead letter goes by, as configured now.
  [[nodiscard]] Result<Profile> profile_of(const DeadLetter& record) const;
  [[nodiscard]] std::shared_ptr<const ProfileBook> rules_now() const;
  [[nodiscard]] std::vector<RedirectRule> redirects_now() const;
  void make_rounds();
  /// Somebody here runs messages of that source, as they come or out of the office.
  [[nodiscard]] bool serves(const std::string& source) const;
  [[nodiscard]] std::vector<std::string> not_for_executors();

  void look_for_pauses();

  static constexpr std::size_t look_for_alerts = 3;  // of what is done now and then
  const ConsumedSources consumed_;
  const Clock& clock_;
  std::mutex live_mutex_;
  std::optional<TimePoint> live_seen_at_;
  std::vector<std::string> live_;       // sources of which messages wait, as last seen
  std::uint64_t seen_ = 0;              // the newest change that was looked at
  std::map<std::string, bool> pauses_;  // of consumed sources, as last seen
  DueTimer timer_;
  SteadyLeases steady_;
  SchedulingOffice scheduling_;
  Dependencies dependencies_;
  DependencyOffice depending_;
  Rounds rounds_;
  WatchedOffice office_;
  const Curtain curtain_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex rules_mutex_;
  std::shared_ptr<const ProfileBook> rules_;  // under `rules_mutex_`, as are
  std::vector<RedirectRule> redirects_;
  const OutsideTargets outside_;
  TokenBook tokens_;
  JobBook jobs_;
  WorkerPool quick_;
  WorkerPool slow_;
  TaskDesk desk_;
  Reports reports_;
  Events events_;
  RetryWaits waits_;
  std::unique_ptr<QueueHall> hall_;
  std::unique_ptr<Retries> retries_;
  std::unique_ptr<Duties> duties_;
  std::unique_ptr<Front> front_;
};

}  // namespace dlo::api
