#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "dlo/engine/clock.h"

namespace dlo {

/// Things that are done now and then, each at its own moment, on one thread. While nothing is due
/// it sleeps. Threads  Any method from any thread.
class Rounds {
 public:
  /// Does what there is to do, and answers when to come again; nothing: when it is rung for.
  using Duty = std::function<std::optional<TimePoint>(TimePoint now)>;
  /// The clock outlives it.
  explicit Rounds(const Clock& clock) : clock_(clock) {}
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  /// Once; all are done at the beginning.
  void start(std::vector<Duty> duties);
  /// This one is due now.
  void ring(std::size_t duty);
  /// Finishes what it is at.
  void stop();

 private:
  void run();
  /// The first that is due, or none.
  [[nodiscard]] std::optional<std::size_t> due(TimePoint now) const;
  [[nodiscard]] TimePoint earliest() const;

  const Clock& clock_;
  std::vector<Duty> duties_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<TimePoint>> next_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dlo
