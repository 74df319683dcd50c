#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dlo/store/office.h"

namespace dlo {

/// Records that were claimed and given back until later because whoever runs them takes nothing
/// now. They are due: when a circuit closes they come forward, and when a process begins, for then
/// its circuits are closed. So they are noted in the office, with the move that puts them off: a
/// note names many, and is gone when they were called or their moment has passed.
/// Memory  Of the keys of notes.
/// Threads  Any method from any thread.
class PutOff {
 public:
  /// `source`: whose records; empty: of every source. What others noted of them is called at first.
  explicit PutOff(const std::string& source) : kind_("put_off/" + source) {}

  /// How often somebody has called them back. Who puts one off that was claimed before the last
  /// call puts it off until now.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(); }

  struct Moment {
    RecordId id;
    TimePoint until{};
  };
  struct Note {
    std::string key;
    TimePoint until{};                 // the last of its moments
    std::vector<std::string> expired;  // notes that go with this write
  };
  /// Adds to `changes` what has to be written with the moves by which these are put off; empty:
  /// nothing, for they come by themselves in a moment. `lease`: of one of them.
  [[nodiscard]] std::optional<Note> note(const LeaseToken& lease,
                                         const std::vector<Moment>& moments, TimePoint now,
                                         std::vector<Change>& changes);
  /// It was written.
  void noted(Note note);

  /// All of them are called; `bring` lets them come.
  void call();
  [[nodiscard]] bool has_called() const noexcept { return called_.load(); }
  /// About so many of those that were called are due now, except those that somebody has moved
  /// since. What cannot be read or written now stays called.
  void bring(Office& office, TimePoint now, std::size_t limit);

 private:
  /// What was noted before this process began.
  [[nodiscard]] bool find_older(Ledger& ledger);
  [[nodiscard]] std::optional<std::string> next_called();
  void call_again(std::string key);
  /// False: not now.
  [[nodiscard]] bool bring_noted(Office& office, const std::string& key, TimePoint now,
                                 std::size_t& looked_at) const;

  const std::string kind_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> called_{true};
  std::mutex mutex_;
  bool knows_older_ = false;
  std::multimap<TimePoint, std::string> notes_;  // by the last of their moments
  std::deque<std::string> coming_;
};

}  // namespace dlo
