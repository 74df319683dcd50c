#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dlo/core/dependencies.h"
#include "dlo/engine/clock.h"
#include "dlo/store/office.h"

namespace dlo {

/// Tasks that wait for others (S2-54). Each is `pending` with the reason `Waits`, and with a
/// document that outlives the process; its `next_retry_at` is the moment at which waiting for tasks
/// nobody knows ends. When the last of the others has succeeded it is scheduled; when one was given
/// up, or the time is over, it is `Blocked`: reported, and run only if somebody retries it. Nothing
/// is decided here (core/dependencies.h).
/// Memory  Grows with the tasks that wait, of which there are at most a hundred thousand.
/// Threads  Any method from any thread.
class Dependencies {
 public:
  using Ticket = std::uint64_t;

  /// References outlive it. `office` is the one below `DependencyOffice`.
  Dependencies(Office& office, const Clock& clock, Millis timeout = usual_depends_timeout)
      : office_(office), clock_(clock), timeout_(timeout) {}

  /// Reads what waits and judges each: something may have happened since it was written.
  [[nodiscard]] Result<void> load();

  /// Reads what others wrote since the last look: who waits now and who does not any more. With
  /// `judges`, those that waited for something that ended elsewhere are judged.
  void follow(bool judges);
  /// All that wait: somebody who judged them so far may have missed something.
  void judge_everybody();

  /// `task` is about to be written and is to wait for those it names in its headers. Conflict if
  /// it would wait for itself.
  [[nodiscard]] Result<Ticket> begin(const Message& task);
  /// Changes the append of `id` so that it waits, and adds the document.
  void hold(Ticket ticket, const RecordId& id, TimePoint due, std::vector<Change>& changes);
  /// It is written. Answers what became of it, for something may have happened meanwhile.
  [[nodiscard]] DependencyVerdict written(Ticket ticket, bool merged);
  void forget(Ticket ticket);

  /// For `DependencyOffice`: which of those that wait depend on what `changes` end, and what has to
  /// be written along with those that somebody releases or ends.
  struct Touched {
    std::set<Ticket> dependents;
    std::set<Ticket> released;
    std::vector<Change> also;
  };
  [[nodiscard]] Touched touched_by(std::span<const Change> changes);
  void applied(const Touched& touched);
  /// Takes those out that still have to wait; they are given back.
  [[nodiscard]] std::vector<Claim> ready(std::vector<Claim> claims);

  /// It waits, or is blocked: nobody has released it.
  [[nodiscard]] bool holds(const RecordId& id) const { return ticket_of(id).has_value(); }

  struct Numbers {
    std::uint64_t waiting = 0;
    std::uint64_t blocked = 0;
  };
  [[nodiscard]] Numbers numbers() const;

 private:
  struct Held {
    std::string source;
    std::string task;
    std::vector<std::string> tasks;  // that it waits for
    std::optional<RecordId> id;      // empty: not written yet
    TimePoint reported_at{};
    TimePoint due{};  // its own moment, were it not for the others
    bool was_held = false;
    bool blocked = false;
    std::set<std::string> given_up{};  // of `tasks`: also when nothing is left of them
  };

  static constexpr const char* kind = "dependency";  // of documents
  [[nodiscard]] static std::string name_in(const std::string& source, const std::string& task);
  [[nodiscard]] static Change removal(const RecordId& id,
                                      std::optional<std::uint64_t> version = std::nullopt);
  [[nodiscard]] static bool is_waiting(Status status, const std::string& reason);
  [[nodiscard]] std::optional<Held> held(Ticket ticket) const;
  [[nodiscard]] std::optional<Ticket> ticket_of(const RecordId& id) const;
  void keep(Ticket ticket, Held held);  // under `mutex_`
  /// The way back to it over those that wait; empty: there is none. Under `mutex_`.
  [[nodiscard]] Result<std::vector<std::string>> way_back(const Held& held) const;
  [[nodiscard]] Result<DependencyVerdict> verdict_on(Held& held);
  /// Judges it and writes what follows; `claim`: it was handed out and is given back.
  Result<DependencyVerdict> judge_one(Ticket ticket, const Claim* claim = nullptr);
  [[nodiscard]] Result<bool> write(const Held& held, const DependencyVerdict& verdict,
                                   const Claim* claim);
  void judge_all(std::set<Ticket> tickets);
  /// It is about to be removed, unresolved or resolved long ago. Under `mutex_`.
  void give_up(const RecordHead& removed);
  void judged(Ticket ticket, const Held& held, const DependencyVerdict& verdict);
  void drop_document(const RecordId& id);
  Result<void> load_one(const Document& document);
  /// One that somebody else may have written: nothing if it does not wait.
  std::optional<Ticket> look_up(const RecordId& id);
  /// The version of its document: 0 if it waits no longer, whoever let it go.
  Result<std::uint64_t> version_of(const RecordId& id);
  /// False: there is nothing to follow.
  [[nodiscard]] bool begin_following();
  void take_in(const RecordHead& head, std::set<Ticket>& dependents);

  Office& office_;
  const Clock& clock_;
  const Millis timeout_;
  mutable std::mutex mutex_;
  Ticket last_ = 0;
  std::uint64_t seen_ = 0;  // the newest change that was followed
  std::map<Ticket, Held> held_;
  std::set<Ticket> behind_;  // those whose verdict could not be written yet
  std::unordered_map<Id128, Ticket> by_id_;
  std::map<std::string, std::set<Ticket>> by_task_;     // source and task: who it is
  std::map<std::string, std::set<Ticket>> waiting_on_;  // source and task: who waits for it
};

}  // namespace dlo
