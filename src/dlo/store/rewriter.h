#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "dlo/core/result.h"
#include "dlo/store/query.h"

namespace dlo {

struct Rewritten {
  std::int64_t last = 0;      // number of the last record looked at
  std::size_t looked_at = 0;  // zero: there are no more
  std::size_t written = 0;
};

/// Writes records in other bytes that mean the same, such as with another key. What is written is
/// no change of a record: version and change number stay, no index follows.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  /// The record as it is to be kept, with as many attempts and versions as it has; nothing: as it
  /// is.
  using Make = std::function<Result<std::optional<RecordDetail>>(const RecordDetail& kept)>;
  /// Looks at up to `limit` records with a number above `after`, in order. All of them or none,
  /// also across a crash; `make` may be asked again.
  virtual Result<Rewritten> rewrite(std::int64_t after, std::size_t limit, const Make& make) = 0;
};

}  // namespace dlo
