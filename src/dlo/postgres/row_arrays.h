#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/id.h"
#include "dlo/postgres/adds_values.h"
#include "dlo/postgres/params.h"

namespace dlo::postgres {

/// One column of many rows: a bigint[] or a bytea[] in the server's binary form. Values are copied.
class ColumnArray : public AddsValues<ColumnArray> {
 public:
  /// Behind the other values of a statement, which borrows it.
  void add_to(Params& params, std::size_t rows);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  void clear() noexcept;

 private:
  friend AddsValues<ColumnArray>;
  void begin(bool is_bytes);
  void add_number(std::int64_t value);
  void add_bytes(std::string_view value);
  void add_id(const Id128& value);
  void add_null(bool is_bytes);

  std::string bytes_;  // room for what an array begins with, then the values
  bool is_bytes_ = false;
  bool has_null_ = false;
};

/// Rows for a statement that takes each column as an array: `… SELECT * FROM unnest($1, $2, …)`.
/// One such statement costs the server far less than one for each row.
class RowArrays {
 public:
  template <typename... Values>
  void add(const Values&... values) {
    columns_.resize(sizeof...(values));
    std::size_t column = 0;
    (columns_[column++].add(values), ...);
    ++rows_;
  }

  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// Borrowed: to be sent before anything else is done here.
  void add_to(Params& params);
  void clear() noexcept;

 private:
  std::vector<ColumnArray> columns_;
  std::size_t rows_ = 0;
};

/// `unnest($first, …)` of so many arrays.
[[nodiscard]] std::string unnest_of(int first, int count);

}  // namespace dlo::postgres
