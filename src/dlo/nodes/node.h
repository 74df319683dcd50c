#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "dlo/engine/clock.h"
#include "dlo/store/leader_seat.h"
#include "dlo/store/office.h"

namespace dlo {

/// What a node says of itself.
struct NodeStatus {
  std::string name;
  bool leads = false;
  std::string leader;  // who does, as far as is known; empty: nobody, or nobody knows
};

/// One server among several on one office. Each answers everything; what must be done once is done
/// by the one that leads. A thread looks after the seat; another begins the duties when it is ours
/// and the term is written, ends them when it is not, and looks now and then at what others wrote.
/// Threads  `status` from any; the others from one.
class Node {
 public:
  struct Work {
    /// This node leads: everything that is done of it is written on this term.
    std::function<void(std::uint64_t term)> lead;
    /// It does not any more. Returns when nothing of it is under way.
    std::function<void()> yield;
    /// Somebody may have written something.
    std::function<void()> look;
    /// By how much the office's clock is ahead of our steady one.
    std::function<void(Millis)> clock{};
    std::function<void(const std::string& line)> told{};
  };
  struct Options {
    std::string name;
    Millis look_every{1'000};
    Millis hints_apart{100};  // however many there are
    /// So long after the last look the seat is no longer believed to be ours.
    Millis believed_for{5'000};
  };
  /// References outlive it.
  Node(LeaderSeat& seat, Office& office, const Clock& clock, Options options, Work work);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void start();
  /// Gives the seat up, so that another need not wait for it.
  void stop();
  [[nodiscard]] NodeStatus status() const;

 private:
  using Steady = std::chrono::steady_clock;
  void keep_seat(const std::stop_token& stop);
  void look_after_seat();
  void work(const std::stop_token& stop);
  void follow_the_seat();
  void begin_duties(std::uint64_t turn);
  void end_duties();
  void tell_who_leads();
  [[nodiscard]] bool has_lost_the_term();
  void resign();
  /// Writes that we lead; nothing if that cannot be said now.
  std::optional<std::uint64_t> begin_term();
  /// The turn that is ours, as far as we may believe; zero: none. Under `mutex_`.
  [[nodiscard]] std::uint64_t turn_now() const;
  void say(const std::string& line) const;

  LeaderSeat& seat_;
  Office& office_;
  const Clock& clock_;
  const Options options_;
  const Work work_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t turn_ = 0;
  Steady::time_point looked_at_{};
  std::string holder_;
  std::uint64_t resigned_ = 0;  // a turn that is given up
  bool moved_ = false;          // there is something to look at
  std::uint64_t leading_ = 0;   // the turn whose duties are begun; written by the worker's thread

  std::uint64_t term_ = 0;  // of the worker's thread, as is
  std::string told_leader_;
  std::jthread keeper_;
  std::jthread worker_;
};

/// As the seat names servers, and back: what others call a node.
[[nodiscard]] std::string seat_name_of(const std::string& node);
[[nodiscard]] std::string node_name_of(const std::string& holder);

}  // namespace dlo
