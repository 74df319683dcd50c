#include "dlo/core/retry_health.h"

#include <algorithm>

#include "dlo/core/retention.h"

namespace dlo {
namespace {

constexpr std::uint64_t many_exhausted = 100;

}  // namespace

std::vector<RetryAlert> alerts_of(const RetryNumbers& numbers) {
  std::vector<RetryAlert> alerts;
  if (numbers.utilisation > little_room_percent) {
    alerts.push_back({"nearly_full",
                      "More than 80 % of workflow.max_size is used; at 100 % reports are refused. "
                      "Archive exhausted dead letters or raise the limit."});
  }
  if (numbers.exhausted > many_exhausted) {
    alerts.push_back({"many_exhausted",
                      std::to_string(numbers.exhausted) +
                          " dead letters are exhausted. Look at their categories: a limit may be "
                          "too low, or permanent errors are retried (strategy selective)."});
  }
  if (numbers.retry_success < numbers.retry_failed) {
    alerts.push_back({"few_succeed",
                      "Fewer than half of all retries worked. Look at the newest "
                      "errors of what was retried."});
  }
  if (numbers.in_memory > 0) {
    alerts.push_back(
        {"in_memory",
         std::to_string(numbers.in_memory) +
             " reports are kept in memory only, because the office cannot be written: "
             "they are gone if this process dies. See what is wrong with the office."});
  }
  return alerts;
}

AlertTurns turns_of(const std::vector<std::string>& known, const std::vector<RetryAlert>& alerts) {
  AlertTurns turns;
  for (const RetryAlert& alert : alerts) {
    if (std::find(known.begin(), known.end(), alert.code) == known.end()) {
      turns.began.push_back(alert);
    }
  }
  for (const std::string& code : known) {
    const bool lasts = std::any_of(alerts.begin(), alerts.end(),
                                   [&](const RetryAlert& alert) { return alert.code == code; });
    if (!lasts) turns.ended.push_back(code);
  }
  return turns;
}

}  // namespace dlo
