#pragma once

#include <cstdint>
#include <string>

#include "dlo/postgres/connection.h"

namespace dlo::postgres {

/// Words of payloads, as hashes in an inverted index on the shelves. Whoever writes does not wait
/// for them: a thread follows the office, and a search judges what it has not reached yet by the
/// text, so that being behind costs time and never a record.
class PayloadIndex {
 public:
  PayloadIndex(Connection& db, const std::string& schema);

  enum class Step : std::uint8_t {
    caught_up,
    more,
    taken,  // another program is at it
  };
  /// Looks at the next few records, and at some payloads that were replaced. Throws `Failed`.
  Step follow();

 private:
  [[nodiscard]] bool follow_arrived();
  [[nodiscard]] bool follow_moved();

  Connection& db_;
  std::int64_t lock_;
};

}  // namespace dlo::postgres
