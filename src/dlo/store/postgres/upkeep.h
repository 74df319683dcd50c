#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "dlo/postgres/link.h"

namespace dlo::postgres {

/// What an office does behind its writers' backs: words of payloads, and shelves. A thread of low
/// priority with a connection of its own. What fails is tried again; nobody is kept waiting.
class Upkeep {
 public:
  Upkeep(const std::string& address, const std::string& settings, std::string schema);
  ~Upkeep();
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  /// Something was written.
  void wake() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Left : std::uint8_t { nothing, to_others, all };

  void work();
  /// Waits for news; false: stop.
  [[nodiscard]] bool wait(Left left);
  [[nodiscard]] Left round();
  void follow_payloads(Connection& db, Left& left);
  [[nodiscard]] bool is_stopping();

  const std::string schema_;
  Link link_;
  Clock::time_point shelves_due_{};
  std::mutex mutex_;
  std::condition_variable woken_;
  bool news_ = true;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace dlo::postgres
