#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlo {

/// What the health of scheduled retries is judged by.
struct RetryNumbers {
  double utilisation = 0;  // percent of the capacity
  std::uint64_t exhausted = 0;
  std::uint64_t retry_success = 0;  // ever
  std::uint64_t retry_failed = 0;
  std::uint64_t in_memory = 0;  // reports that the office could not take yet
  bool operator==(const RetryNumbers&) const = default;
};

struct RetryAlert {
  std::string_view code;  // nearly_full, many_exhausted, few_succeed, in_memory
  std::string text;       // for people, with what to do
};

/// S2-43: more than 80 % full; more than 100 exhausted; fewer than half of all retries worked, once
/// there was one. And what is in memory only, while there is any (R2-10).
[[nodiscard]] std::vector<RetryAlert> alerts_of(const RetryNumbers& numbers);

/// Each alert is told once when it begins and once when it ends.
struct AlertTurns {
  std::vector<RetryAlert> began;
  std::vector<std::string> ended;  // codes
};
/// `known`: the codes of those that were there the last time.
[[nodiscard]] AlertTurns turns_of(const std::vector<std::string>& known,
                                  const std::vector<RetryAlert>& alerts);

}  // namespace dlo
