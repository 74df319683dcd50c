#include "dlo/access/damper.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dlo {

std::optional<Millis> Damper::wait_of(const std::string& client, TimePoint now) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.closed_until <= now) return std::nullopt;
  // A clock that was set back must not shut anybody out for longer than the longest wait.
  return std::min(found->second.closed_until - now, limits_.longest_wait);
}

void Damper::failed(const std::string& client, TimePoint now) {
  if (clients_.size() >= limits_.most_clients && !clients_.contains(client)) make_room(now);
  Tries& tries = clients_[client];
  if (now - tries.last > limits_.forgets_after) tries = {};
  tries.last = now;
  ++tries.failures;
  if (tries.failures <= limits_.free_tries) return;
  Millis wait = limits_.first_wait;
  for (auto doubled = limits_.free_tries + 1;
       doubled < tries.failures && wait < limits_.longest_wait; ++doubled) {
    wait *= 2;
  }
  tries.closed_until = now + std::min(wait, limits_.longest_wait);
}

void Damper::make_room(TimePoint now) {
  std::erase_if(clients_,
                [&](const auto& each) { return now - each.second.last > limits_.forgets_after; });
  if (clients_.size() < limits_.most_clients) return;
  // Half at once: whoever comes from ever new addresses pays once for many.
  std::vector<TimePoint> times;
  times.reserve(clients_.size());
  for (const auto& [name, tries] : clients_) times.push_back(tries.last);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(clients_, [&](const auto& each) { return each.second.last <= *middle; });
}

}  // namespace dlo
