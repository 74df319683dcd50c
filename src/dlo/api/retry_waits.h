#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "dlo/api/request.h"
#include "dlo/core/acts.h"
#include "dlo/server/http_exchange.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Those who asked for a retry and want to hear what came of it (S2-21). They hold no thread:
/// somebody looks for all of them now and then, at the record itself, so it does not matter which
/// process ran it. Threads  Any method from any thread.
class RetryWaits {
 public:
  /// References outlive it. `wake`: `look` has something to do.
  RetryWaits(Office& office, std::function<void()> wake)
      : office_(office), wake_(std::move(wake)) {}

  struct Waiting {
    RecordId id;
    AskedRetry asked;
    TimePoint until{};
    Request request;
    ExchangePtr exchange;
  };
  /// Answers when the outcome is known or the time is up; at once if very many wait.
  void add(Waiting one);
  /// Answers those who need wait no longer, and when to come again.
  [[nodiscard]] std::optional<TimePoint> look(TimePoint now);
  /// Tells everybody how far it is; later ones are told at once.
  void close();

 private:
  /// False: it is still awaited.
  [[nodiscard]] bool answer(const Waiting& one, bool anyhow) const;

  Office& office_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  bool closed_ = false;
};

}  // namespace dlo::api
