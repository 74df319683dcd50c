#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dlo/core/time.h"
#include "dlo/outbox/row.h"

namespace dlo::outbox {

/// Rows that are not to be read for now, and what is known of them that their table may have no
/// column for. A row that rests keeps back the rows of its key: order before speed.
class Resting {
 public:
  /// `failures.due` says until when.
  void rest(const std::string& id, const std::string& key, Failures failures);
  /// Those whose time has come may be read; what is known of them stays for an hour.
  void wake(TimePoint now);
  void forget(const std::string& id);

  /// What was known of the row before; null: nothing.
  [[nodiscard]] const Failures* find(const std::string& id) const;
  [[nodiscard]] std::vector<std::string> ids() const { return {resting_.begin(), resting_.end()}; }
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::size_t size() const noexcept { return resting_.size(); }
  /// When the first of them may be read again.
  [[nodiscard]] std::optional<TimePoint> next() const;

 private:
  struct Known {
    std::string key;
    Failures failures;
  };
  std::map<std::string, Known> known_;
  std::set<std::string> resting_;
};

}  // namespace dlo::outbox
