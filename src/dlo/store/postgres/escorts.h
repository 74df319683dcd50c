#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/postgres/connection.h"
#include "dlo/store/change.h"

namespace dlo::postgres {

/// What somebody wants to have committed together with a record: statements about tables of his own
/// in the database in which the office is (R4). They go by the record's id, so whatever stands
/// between him and the office, passing changes on, needs to know nothing of it.
/// Threads  Any method from any thread.
class Escorts {
 public:
  /// Run in the office's transaction, after the list with the record's append was carried out;
  /// maybe again, if the transaction has to be. What it throws undoes the list.
  using Run = std::function<void(Connection&)>;

  /// From now on, until `dismiss`.
  void send_with(const RecordId& record, Run run) {
    const std::lock_guard lock(mutex_);
    waiting_[record] = std::move(run);
  }
  void dismiss(const RecordId& record) {
    const std::lock_guard lock(mutex_);
    waiting_.erase(record);
  }
  /// Of the records that `changes` append.
  [[nodiscard]] std::vector<Run> of(std::span<const Change> changes) const {
    std::vector<Run> found;
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return found;
    for (const Change& change : changes) {
      const auto* append = std::get_if<Append>(&change);
      if (append == nullptr) continue;
      const auto escort = waiting_.find(append->record->id);
      if (escort != waiting_.end()) found.push_back(escort->second);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::map<RecordId, Run> waiting_;
};

}  // namespace dlo::postgres
