#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <variant>
#include <vector>

#include "dlo/api/gatherer.h"
#include "dlo/api/queue_settings.h"
#include "dlo/broker/own_queues.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/office_source.h"
#include "dlo/engine/pull_desk.h"
#include "dlo/server/http_exchange.h"
#include "dlo/server/worker_pool.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// One queue as its clients meet it: they send, come for messages, and say how it went. What they
/// send and settle at the same time shares one write; a receiver that waits holds no thread.
/// Threads  Any method from any thread.
class QueueWindow {
 public:
  struct Parts {
    Office& office;
    const Clock& clock;
    WorkerPool& pool;
    Origin origin;
    std::function<void()> somebody_waits;  // so that `tick` is called from now on
  };
  QueueWindow(const Parts& parts, std::unique_ptr<OwnQueue> queue, QueueSettings settings,
              std::shared_ptr<const RuleBook> rules);

  using Sent = std::function<void(const Result<std::vector<PublishAnswer>>&)>;
  /// All or none of them; with what came in beside `exchange`. Unavailable if too much is under
  /// way.
  void send(std::vector<Publication> messages, HttpExchange& exchange, Sent told);

  using Settled = std::function<void(Result<std::vector<PullAnswer>>)>;
  void settle(std::vector<PullSettlement> settlements, HttpExchange& exchange, Settled told);

  [[nodiscard]] Result<std::vector<bool>> renew(const std::vector<LeaseToken>& leases,
                                                Millis lease_for);

  /// How an answer is written. Called once, with what was handed out, maybe nothing.
  using Handed = std::vector<PullDesk::Handed>;
  using Render = std::function<HttpResponse(const Handed&)>;
  struct Wanted {
    std::size_t limit = 1;
    Millis lease_for{30'000};
    Millis wait{0};
  };
  /// Answers as soon as there is something, or when the time to wait is up. Never blocks: receivers
  /// that come together are served together, whoever came first comes first.
  void receive(const Wanted& wanted, const ExchangePtr& exchange, Render render);

  /// Runs `task` on a thread that may block. False: too much is under way.
  [[nodiscard]] bool later(std::function<void()> task);

  /// Looks after those who wait: deadlines, delays that ended. Answers whether somebody still does.
  bool tick();
  /// Now and then.
  void tidy();
  /// What has expired is dead, though nobody receives. True: there may be more.
  bool bury_expired();
  /// Answers everybody who waits, with nothing.
  void close();
  /// When nobody comes any more, before the queue is closed: what workers have is the queue's
  /// again.
  void give_all_back();
  /// Hands nothing out any more, unless something is out: then false, and all stays as it is.
  [[nodiscard]] bool retire();
  /// There may be something for those who wait.
  void wake();

  [[nodiscard]] OwnQueue& queue() noexcept { return *queue_; }
  [[nodiscard]] Instant instant() const noexcept { return parts_.clock.instant(); }
  [[nodiscard]] const QueueSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::shared_ptr<const RuleBook> rules() const;
  /// From now on these rules decide about failures.
  void use(const std::shared_ptr<const RuleBook>& rules);
  [[nodiscard]] std::size_t held() const { return desk_.held() + office_desk_.held(); }

 private:
  struct Sending {
    std::vector<Publication> messages;
    Sent told;
  };
  struct Settling {
    std::vector<PullSettlement> settlements;
    Settled told;
  };
  struct Waiter {
    Wanted wanted;
    TimePoint until{};
    ExchangePtr exchange;
    Render render;
  };
  using Waiters = std::deque<Waiter>;

  using Wish = std::variant<Sending, Settling>;

  void turn(std::vector<Wish> wishes);
  Pending<std::vector<PublishAnswer>> place(const std::vector<Publication>& messages, Instant now);
  void tell(std::vector<Sending>& sendings, Result<std::vector<PublishAnswer>> sent, Instant now);
  void tell(std::vector<Settling>& settlings, Result<std::vector<PullAnswer>> settled);
  void settle_all(std::vector<Settling> settlings);
  [[nodiscard]] Result<std::vector<PullAnswer>> settle_now(std::vector<PullSettlement> settlements);
  [[nodiscard]] Result<Handed> fetch(const Wanted& wanted);
  [[nodiscard]] bool may_ask_office(TimePoint now);
  [[nodiscard]] bool office_is_due(TimePoint now);
  [[nodiscard]] Waiters take_alike(std::uint64_t& heard);
  [[nodiscard]] bool serve(Waiters group);
  void take_back(const Handed& unclaimed);
  void ring();
  [[nodiscard]] bool rang_since(std::uint64_t heard);
  void answer_overdue();
  void wake_later();
  [[nodiscard]] bool somebody_waits();

  const Parts parts_;
  const QueueSettings settings_;
  std::shared_ptr<const RuleBook> rules_;  // under `mutex_` once it is made
  const std::unique_ptr<OwnQueue> queue_;
  OfficeSource office_source_;
  PullDesk desk_;
  PullDesk office_desk_;  // messages of this queue that wait in the office, or are to be retried
  Gatherer<Wish> turns_;  // what waits for the queue's disk only
  Gatherer<Settling> settler_;  // what may have to wait for the office

  std::shared_mutex retire_mutex_;
  bool retired_ = false;

  mutable std::mutex mutex_;
  Waiters waiters_;
  bool wake_due_ = false;    // a thread will come and serve them
  std::uint64_t rings_ = 0;  // how often there may have been something new
  TimePoint ask_office_at_{};
  bool closed_ = false;
};

}  // namespace dlo::api
