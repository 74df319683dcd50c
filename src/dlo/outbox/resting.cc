#include "dlo/outbox/resting.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlo::outbox {
namespace {

// A row that is not seen again in that time was finished by somebody else.
constexpr Millis remembered{std::chrono::hours{1}};

}  // namespace

void Resting::rest(const std::string& id, const std::string& key, Failures failures) {
  known_[id] = {key, std::move(failures)};
  resting_.insert(id);
}

void Resting::wake(TimePoint now) {
  for (auto each = known_.begin(); each != known_.end();) {
    const TimePoint due = each->second.failures.due.value_or(now);
    if (due <= now) resting_.erase(each->first);
    const bool forgotten = due + remembered < now;
    each = forgotten ? known_.erase(each) : std::next(each);
  }
}

void Resting::forget(const std::string& id) {
  known_.erase(id);
  resting_.erase(id);
}

const Failures* Resting::find(const std::string& id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second.failures;
}

std::vector<std::string> Resting::keys() const {
  std::set<std::string> keys;
  for (const std::string& id : resting_) {
    const std::string& key = known_.at(id).key;
    if (!key.empty()) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

std::optional<TimePoint> Resting::next() const {
  std::optional<TimePoint> first;
  for (const std::string& id : resting_) {
    const auto& due = known_.at(id).failures.due;
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace dlo::outbox
