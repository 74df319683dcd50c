#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dlo/postgres/connection.h"

namespace dlo::postgres {

/// When a server that could not be reached may be tried again: after 50 ms, then after twice as
/// long as the time before, 5 s at most.
class Backoff {
 public:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool may_try(Clock::time_point now) const noexcept { return now >= next_; }
  void failed(Clock::time_point now) noexcept;
  void succeeded() noexcept {
    wait_ = {};
    next_ = {};
  }
  [[nodiscard]] Clock::duration left(Clock::time_point now) const noexcept;

 private:
  Clock::duration wait_{};
  Clock::time_point next_{};
};

/// A connection that is made when it is needed and again when it is lost. While the server cannot
/// be reached nobody waits for it: whoever asks is told at once, until it is time to try again.
/// Belongs to one thread.
class Link {
 public:
  /// Called with every connection that is made, before its first use; what it throws is as if none
  /// could be made.
  using Greet = std::function<void(Connection&)>;

  Link(std::string address, std::string settings, Greet greet = {})
      : address_(std::move(address)), settings_(std::move(settings)), greet_(std::move(greet)) {}

  [[nodiscard]] Connection& use();
  [[nodiscard]] Connection* current() noexcept { return connection_.get(); }
  void drop() noexcept { connection_.reset(); }

 private:
  std::string address_;
  std::string settings_;
  Greet greet_;
  std::unique_ptr<Connection> connection_;
  Backoff backoff_;
  std::optional<Failed> last_;
};

/// Links for readers, each used by one of them at a time; whoever finds all taken waits.
class Pool {
 public:
  Pool(const std::string& address, const std::string& settings, std::size_t links);

  class Turn {
   public:
    explicit Turn(Pool& pool);
    /// A connection that was lost or left in the middle of something is not used again.
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[nodiscard]] Connection& connection() { return link_->use(); }
    void drop() noexcept { link_->drop(); }

   private:
    Pool& pool_;
    Link* link_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable back_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> free_;
};

}  // namespace dlo::postgres
