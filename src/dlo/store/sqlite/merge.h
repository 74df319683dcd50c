#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dlo/store/sql/head.h"
#include "dlo/store/sqlite/connection.h"

namespace dlo::sqlite {

/// What is read of a row inside its index; of a whole row it is `head_columns`.
inline constexpr const char* index_columns = "number, died_at, facets";
inline constexpr int index_died_at = 1;
inline constexpr int index_facets = 2;

/// Rows of one class or status of the lead, from `first` on in page order.
struct Range {
  Statement* rows = nullptr;
  bool in_index = false;
  std::int64_t died_at = 0;
  std::int64_t number = 0;
  bool live = false;

  void next() {
    live = rows->step();
    if (!live) return;
    died_at = rows->number(in_index ? index_died_at : column::died_at);
    number = rows->number(column::number);
  }
};

/// Several ranges as one, in page order.
class Merge {
 public:
  Merge(bool newest_first, bool in_index) : newest_first_(newest_first), in_index_(in_index) {}
  ~Merge() {
    for (Range& range : ranges_) range.rows->reset();
  }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  void add(Statement& rows) {
    Range range{&rows, in_index_};
    ranges_.push_back(range);
    ranges_.back().next();
  }
  /// The next row, or null.
  Range* front() {
    Range* best = nullptr;
    for (Range& range : ranges_) {
      if (range.live && (best == nullptr || comes_before(range, *best))) best = &range;
    }
    return best;
  }

 private:
  [[nodiscard]] bool comes_before(const Range& a, const Range& b) const {
    const auto left = std::pair(a.died_at, a.number);
    const auto right = std::pair(b.died_at, b.number);
    return newest_first_ ? left > right : left < right;
  }
  bool newest_first_;
  bool in_index_;
  std::vector<Range> ranges_;
};

}  // namespace dlo::sqlite
