#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "dlo/postgres/connection.h"
#include "dlo/postgres/row_arrays.h"
#include "dlo/store/postgres/desk.h"

namespace dlo::postgres {

/// New rows on their way into the pipeline: one statement for each table takes those of many
/// records, as arrays. Bounded, so that neither side holds much more than one large record twice.
class Arrivals {
 public:
  /// Head, facts and body of a new record.
  void add(const Sheet& sheet);
  /// Of any record.
  void add_attempt(std::int64_t number, std::uint32_t place, std::string_view encoded);

  [[nodiscard]] bool are_many() const noexcept;
  /// How many statements it were.
  [[nodiscard]] std::size_t send(Connection& db);
  void clear() noexcept;

 private:
  RowArrays heads_;
  RowArrays facts_;
  RowArrays bodies_;
  RowArrays attempts_;
  std::vector<std::int32_t> words_;  // of all facts, one behind the other
};

}  // namespace dlo::postgres
