#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "dlo/collector/collector.h"
#include "dlo/store/change.h"

namespace dlo {

/// A delivery on its way.
struct Collector::Kept {
  explicit Kept(Delivery delivery) : found(std::move(delivery)) {}

  Delivery found;
  MessagePtr by_content{};             // as it is kept, if there is nothing else to know it by
  std::optional<std::size_t> place{};  // of its append in the list
  std::optional<SourceSettled> record{};
  bool known = false;   // the office had it before
  bool merged = false;  // ... or got it from another of the same list
  bool durable = false;
  std::optional<Error> refused{};
};

/// Deliveries that are written together.
struct Collector::Batch {
  struct Drawn {
    std::vector<Change> changes{};
    TimePoint at{};
  };
  std::vector<Kept> all{};
  std::vector<LeaseToken> leases{};
  std::optional<Drawn> drawn{};  // what is written of them; empty: to be drawn up
};

}  // namespace dlo
