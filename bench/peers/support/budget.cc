#include "peers/support/budget.h"

#include <algorithm>
#include <utility>

namespace dlo::peers {

void Budget::start() {
  std::call_once(started_, [this] { start_ = Clock::now(); });
}

Numbers Budget::take(long most) {
  start();
  if (spent_) return {};
  long first = taken_;
  long count = 0;
  do {
    count = std::min(most, messages_ - first);
    if (count <= 0 || Clock::now() - start_ >= limit_) {
      spent_ = true;
      return {};
    }
  } while (!taken_.compare_exchange_weak(first, first + count));
  if (first + count == messages_) spent_ = true;
  return {first, count};
}

Measured Budget::measured(long messages, Latencies latencies) const {
  return {messages, Clock::now() - start_, std::move(latencies)};
}

Instant Pace::wake() const noexcept {
  return sent_ < messages_ ? due(sent_) : Clock::now() + std::chrono::seconds{1};
}

Measured Pace::measured(long messages, Latencies latencies) const {
  return {messages, Clock::now() - start_, std::move(latencies)};
}

}  // namespace dlo::peers
