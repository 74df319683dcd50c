#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "dlo/broker/own_queues.h"
#include "dlo/broker/postgres/bell.h"
#include "dlo/broker/postgres/postgres_options.h"
#include "dlo/core/instant.h"
#include "dlo/postgres/link.h"

namespace dlo::postgres {

/// What the queues of one program share: connections, the program's number as a holder of leases,
/// and the thread that listens to other programs.
/// Threads  Any method from any thread.
class Hub {
 public:
  /// Throws `Failed`.
  Hub(const std::string& address, const PostgresQueueOptions& options, const Instant& now);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Runs `body`, which answers a Result, with a connection whose commits need not be on disk:
  /// claims, marks, looks. A connection that was lost while it rested says nothing of the server: a
  /// fresh one is tried.
  template <typename Body>
  auto quickly(const char* where, const Body& body) {
    return guarded(where, [&] { return twice(hands_, body); });
  }
  /// Runs `body` with a connection whose commits are on disk when they are answered. If it is lost
  /// on the way, nobody knows what became of the call: timed_out.
  template <typename Body>
  auto lastingly(const char* where, const Body& body) {
    return guarded(where, [&] {
      bool began = false;
      try {
        return again_after_collisions(desk_, body, began);
      } catch (const Failed& failed) {
        const bool undone = failed.state == read_only;  // the server said so
        if (failed.trouble == Trouble::lost && began && !undone) throw in_doubt(failed);
        throw;
      }
    });
  }

  [[nodiscard]] const PostgresQueueOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] const std::string& incarnation() const noexcept { return incarnation_; }
  [[nodiscard]] std::int64_t holder() const noexcept { return holder_; }
  /// The number before the first of `count` leases that nobody else ever has.
  [[nodiscard]] std::int64_t draw_leases(std::uint64_t count) noexcept {
    return static_cast<std::int64_t>(leases_.fetch_add(count));
  }

  /// `moment` as the queues' clock shows it: the caller's steady clock, set by the server's if that
  /// was asked for.
  [[nodiscard]] TimePoint even(const Instant& moment) const noexcept {
    return moment.steady + ahead_;
  }
  [[nodiscard]] const Instant& opened_at() const noexcept { return opened_at_; }
  /// As late as anybody said.
  void note(const Instant& now);
  [[nodiscard]] Instant latest() const;

  [[nodiscard]] std::shared_ptr<Bell> bell(int queue);
  /// There may be something new in `queue`: for those who wait here, and soon for other programs.
  void ring(int queue);

  /// Leases of programs that are no more end.
  [[nodiscard]] Result<std::uint64_t> end_leases_of_the_dead(const Instant& now);
  [[nodiscard]] QueuesHealth health() const;
  /// In good order: our leases end. `as_if_killed`: they are left to whoever finds them.
  void close(const Instant& now, bool as_if_killed) noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return closed_.load(); }

 private:
  template <typename Body>
  auto guarded(const char* where, const Body& body) -> decltype(body());
  template <typename Body>
  auto twice(Pool& pool, const Body& body);
  template <typename Body>
  auto again_after_collisions(Pool& pool, const Body& body, bool& began);
  [[nodiscard]] static Failed in_doubt(const Failed& failed);

  void compare_clocks(Connection& connection, Bell::Clock::time_point opened);
  void greet(Connection& connection) const;
  void listen_once(Link& link);
  void tell_others(Connection& connection, int queue) const;
  void note_trouble(const std::string& trouble);

  const std::string address_;
  const PostgresQueueOptions options_;
  const Instant opened_at_;
  const std::int64_t holder_;
  std::string place_;
  std::string incarnation_;
  Millis ahead_{0};  // of the server's clock before the caller's steady one
  std::atomic<std::uint64_t> leases_;
  std::atomic<bool> closed_{false};
  Pool hands_;
  Pool desk_;

  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<Bell>> bells_;
  std::set<int> untold_;  // queues whose news other programs have not heard
  std::string trouble_;
  Instant latest_;

  std::jthread listener_;  // stops first
};

template <typename Body>
auto Hub::guarded(const char* where, const Body& body) -> decltype(body()) {
  if (is_closed()) {
    return Error{Code::unavailable, where,
                 "the queues in " + place_ + " are closed; open them again to go on"};
  }
  try {
    return body();
  } catch (const Failed& failed) {
    Error error = failed.error;
    error.where = where;
    return error;
  } catch (const std::bad_alloc&) {
    return Error{Code::full, where,
                 "not enough memory for this call; nothing was changed; ask for less at once"};
  }
}

template <typename Body>
auto Hub::again_after_collisions(Pool& pool, const Body& body, bool& began) {
  for (int tries = 1;; ++tries) {
    Pool::Turn turn(pool);
    Connection& connection = turn.connection();
    began = true;
    try {
      return body(connection);
    } catch (const Failed& failed) {
      if (failed.trouble != Trouble::collision || tries == 4) throw;
      if (connection.in_transaction()) turn.drop();
    }
  }
}

template <typename Body>
auto Hub::twice(Pool& pool, const Body& body) {
  bool began = false;
  try {
    return again_after_collisions(pool, body, began);
  } catch (const Failed& failed) {
    if (failed.trouble != Trouble::lost || !began) throw;
  }
  return again_after_collisions(pool, body, began);
}

}  // namespace dlo::postgres
