#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "dlo/postgres/connection.h"
#include "dlo/store/query.h"

namespace dlo::postgres {

/// The groups of a request, a stretch of them at a time. Each stretch begins where an index says,
/// and between two of them there is time to look at the clock.
class GroupPages {
 public:
  explicit GroupPages(const AggregateRequest& request);

  /// Two statements: of the next stretch those that may pass the filter, and where it ends.
  void send(Connection& db) const;
  void take(const Rows& rows, const Rows& end);
  /// There is more to look at, and time for it.
  [[nodiscard]] bool goes_on() const;
  void put_into(Aggregate& answer);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string stretch() const;

  const AggregateRequest& request_;
  const Clock::time_point began_ = Clock::now();
  std::int64_t length_;
  std::optional<GroupPlace> after_;
  bool more_ = true;
  std::vector<GroupSummary> groups_;
};

}  // namespace dlo::postgres
