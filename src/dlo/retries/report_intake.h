#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "dlo/core/profile.h"
#include "dlo/core/strategy.h"
#include "dlo/retries/fallback_shelf.h"
#include "dlo/store/office.h"

namespace dlo {

/// What a report meets before it is kept: whether its profile's strategy wants it, and whether
/// there is room. Counts both (R2-9: each kind of skip by its own name). Threads  Any method from
/// any thread.
class ReportIntake {
 public:
  /// What is on `shelf` takes places too. References outlive it.
  ReportIntake(Office& office, const FallbackShelf& shelf) : office_(office), shelf_(shelf) {}

  [[nodiscard]] IntakeDecision admit(const Profile& profile, std::string_view category,
                                     bool requested);

  /// How many more of `wanted` reports fit; all of them where a profile has no limit. As long as
  /// the answer lives nobody else is let in, so that the last place is given once.
  struct Places {
    std::unique_lock<std::mutex> held;
    std::uint64_t free = UINT64_MAX;
  };
  [[nodiscard]] Result<Places> places(const Profile& profile);
  [[nodiscard]] static Error full(const Profile& profile);
  /// How many were open when somebody last looked.
  [[nodiscard]] std::uint64_t last_open() const noexcept { return last_open_.load(); }

  void refused_as_full() { count("refused_full"); }
  // What became of those that were let in (R2-10).
  void persisted() { count("persisted"); }
  void kept_in_memory() { count("in_memory"); }
  void rejected() { count("rejected"); }

  /// By the names of `IntakeDecision::counter` and those above; since the server was started.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

 private:
  void count(std::string_view name);

  Office& office_;
  const FallbackShelf& shelf_;
  std::atomic<std::uint64_t> last_open_{0};
  std::mutex door_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

/// In percent of what a profile allows (S2-25).
[[nodiscard]] double utilisation_of(const Capacity& capacity, std::uint64_t used) noexcept;
/// Open dead letters: what capacity is about (R9).
[[nodiscard]] std::uint64_t open_dead_letters(const Aggregate& numbers) noexcept;

}  // namespace dlo
