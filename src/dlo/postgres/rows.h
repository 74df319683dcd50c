#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dlo/core/id.h"
#include "dlo/core/time.h"

struct pg_result;

namespace dlo::postgres {

/// One row of an answer, columns by place from 0. Values are in the server's binary form.
class Row {
 public:
  Row(const pg_result* result, int row) : result_(result), row_(row) {}

  /// Of an integer of any width, or a boolean.
  [[nodiscard]] std::int64_t number(int column) const;
  template <typename Unsigned>
  [[nodiscard]] Unsigned as(int column) const {
    return static_cast<Unsigned>(number(column));
  }
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] TimePoint time(int column) const { return TimePoint{Millis{number(column)}}; }
  [[nodiscard]] std::optional<TimePoint> maybe_time(int column) const;
  /// Valid as long as the answer. For text and for bytes.
  [[nodiscard]] std::string_view view(int column) const;
  [[nodiscard]] std::string text(int column) const { return std::string(view(column)); }
  [[nodiscard]] Id128 id(int column) const;

 private:
  const pg_result* result_;
  int row_;
};

/// The answer to one statement.
class Rows {
 public:
  explicit Rows(pg_result* result) : result_(result) {}

  [[nodiscard]] int size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Row operator[](int row) const { return {result_.get(), row}; }
  [[nodiscard]] Row front() const { return (*this)[0]; }
  /// How many rows a statement wrote.
  [[nodiscard]] std::int64_t written() const;

  class Iterator {
   public:
    Iterator(const Rows& rows, int row) : rows_(&rows), row_(row) {}
    Row operator*() const { return (*rows_)[row_]; }
    Iterator& operator++() { return ++row_, *this; }
    bool operator==(const Iterator& other) const { return row_ == other.row_; }

   private:
    const Rows* rows_;
    int row_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

 private:
  struct Clearer {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Clearer> result_;
};

}  // namespace dlo::postgres
