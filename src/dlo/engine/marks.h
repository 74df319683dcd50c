#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "dlo/store/change.h"

namespace dlo {

/// Records are written with the mark `source_unsettled` (R3). Once their source has confirmed it is
/// taken off, with whatever is written next: nobody waits for it, so it costs no sync of its own. A
/// mark that stays longer only makes repeats merge.
/// Threads  `settled` and `size` from any thread; the others from whoever writes.
class Marks {
 public:
  /// The source of this record has confirmed.
  void settled(const SourceSettled& record);

  /// Adds to `out` what takes off at most `limit` marks, oldest first. To be followed by `done` or
  /// `not_written`.
  void put(std::size_t limit, std::vector<Change>& out);
  /// What was put is durable.
  void done() { under_way_.clear(); }
  /// What was put is still owed.
  void not_written();

  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::vector<SourceSettled> owed_;

  // Of whoever writes.
  std::vector<SourceSettled> under_way_;
};

}  // namespace dlo
