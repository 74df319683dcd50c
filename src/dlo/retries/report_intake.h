#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "dlo/core/profile.h"
#include "dlo/core/strategy.h"
#include "dlo/store/office.h"

namespace dlo {

/// What a report meets before it is kept: whether its profile's strategy wants it, and whether
/// there is room. Counts both (R2-9: each kind of skip by its own name). Threads  Any method from
/// any thread.
class ReportIntake {
 public:
  explicit ReportIntake(Office& office) : office_(office) {}

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
  void refused_as_full() { count("refused_full"); }

  /// By the names of `IntakeDecision::counter`, and `refused_full`; since the server was started.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

 private:
  void count(std::string_view name);

  Office& office_;
  std::mutex door_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

/// In percent of what a profile allows (S2-25).
[[nodiscard]] double utilisation_of(const Capacity& capacity, std::uint64_t used) noexcept;
/// Open dead letters: what capacity is about (R9).
[[nodiscard]] std::uint64_t open_dead_letters(const Aggregate& numbers) noexcept;

}  // namespace dlo
