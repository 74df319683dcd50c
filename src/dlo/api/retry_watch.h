#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dlo/core/breaker.h"
#include "dlo/core/retry_health.h"
#include "dlo/engine/clock.h"
#include "dlo/retries/executors.h"
#include "dlo/store/office.h"

namespace dlo::api {

/// Tells what happens to scheduled retries without anybody's act: alerts that begin and end
/// (S2-43), circuits that move. Each is a line in the log and an entry of the audit trail by
/// `office`, and so an event for whoever listens; what the office cannot take is written when it
/// can. Threads  `look` and `tell` from one thread; circuits move on any.
class RetryWatch {
 public:
  struct Parts {
    Office& office;
    const Clock& clock;
    std::function<void(const std::string&)> log{};
    std::function<Result<RetryNumbers>()> numbers{};
    std::function<void()> wake{};  // `tell` has something to do
  };
  explicit RetryWatch(Parts parts) : parts_(std::move(parts)) {}
  ~RetryWatch() { listen_to(nullptr); }
  RetryWatch(const RetryWatch&) = delete;
  RetryWatch& operator=(const RetryWatch&) = delete;

  /// Hears of their circuits from now on, and of nobody else's.
  void listen_to(std::shared_ptr<Executors> executors);

  /// Looks whether all is well; when to look again.
  std::optional<TimePoint> look(TimePoint now);
  /// Writes down what was heard; when to try again if the office cannot.
  std::optional<TimePoint> tell(TimePoint now);

 private:
  void note(AddAudit entry, std::string line);
  void moved(const std::string& executor, BreakerState to);

  Parts parts_;
  std::mutex mutex_;
  std::shared_ptr<Executors> executors_;
  std::vector<std::string> known_;  // alerts that have begun
  struct Note {
    AddAudit entry;
    std::string line;
  };
  std::deque<Note> notes_;     // to be told
  std::deque<Change> unkept_;  // told, and not yet in the trail
};

}  // namespace dlo::api
