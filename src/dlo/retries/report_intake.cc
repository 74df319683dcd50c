#include "dlo/retries/report_intake.h"

#include <utility>

#include "dlo/core/retention.h"

namespace dlo {

std::uint64_t open_dead_letters(const Aggregate& numbers) noexcept {
  std::uint64_t open = 0;
  for (const Tally& tally : numbers.tallies) open += is_open(tally.status) ? tally.count : 0;
  return open;
}

double utilisation_of(const Capacity& capacity, std::uint64_t used) noexcept {
  return utilisation(capacity, {used, 0});
}

IntakeDecision ReportIntake::admit(const Profile& profile, std::string_view category,
                                   bool requested) {
  IntakeDecision decision = admits(profile.strategy, category, profile.skips, requested);
  count(decision.counter);
  return decision;
}

Result<ReportIntake::Places> ReportIntake::places(const Profile& profile) {
  Places places;
  if (!profile.capacity.records) return places;
  places.held = std::unique_lock(door_);
  const std::uint64_t held = shelf_.size();  // first: what moves meanwhile is rather counted twice
  const auto numbers = office_.aggregate({});
  if (!numbers) return numbers.error();
  const std::uint64_t open = open_dead_letters(*numbers);
  last_open_.store(open);
  places.free = places_left(profile.capacity, {open + held, 0});
  return places;
}

Error ReportIntake::full(const Profile& profile) {
  return {Code::full, "tasks.report",
          "The office holds " + std::to_string(profile.capacity.records.value_or(0)) +
              " open dead letters, as many as profile " + profile.name +
              " allows (workflow.max_size). This one was not kept: the message is still yours. "
              "Archive or discard exhausted ones, or raise the limit."};
}

std::map<std::string, std::uint64_t> ReportIntake::counts() const {
  const std::lock_guard lock(mutex_);
  return {counts_.begin(), counts_.end()};
}

void ReportIntake::count(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(name);
  if (found != counts_.end()) {
    ++found->second;
  } else {
    counts_.emplace(name, 1);
  }
}

}  // namespace dlo
