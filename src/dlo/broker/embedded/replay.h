#pragma once

#include <cstdint>
#include <functional>

#include "dlo/broker/embedded/holdings.h"
#include "dlo/broker/embedded/records.h"
#include "dlo/journal/journal.h"

namespace dlo::embedded {

/// Carries out records that were written before: through the same methods that wrote them.
class Replay {
 public:
  explicit Replay(Holdings& holdings) noexcept : holdings_(holdings) {}

  /// Corrupt if the record is whole and makes no sense.
  Result<void> apply(const Entry& entry);

  std::uint64_t incarnation = 0;  // 0: none was seen

 private:
  Result<void> apply_published(const Entry& entry);
  Result<void> apply_small(const Entry& entry);
  Result<void> apply_to_queue(const Entry& entry);
  bool apply_to_set(RecordType type, QueueState& queue, ByteReader& in);
  bool after(ByteReader& in, TimePoint now, const std::function<void()>& act);

  Holdings& holdings_;
};

}  // namespace dlo::embedded
