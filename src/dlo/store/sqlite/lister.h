#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/store/query.h"
#include "dlo/store/sqlite/estimates.h"
#include "dlo/store/sqlite/facets.h"
#include "dlo/store/sqlite/readers.h"
#include "dlo/store/sqlite/row_filter.h"

namespace dlo::sqlite {

class Merge;

/// An index that can lead a listing: rows of one value come in page order, per class or status.
struct Lead {
  std::string_view index;
  const char* where = nullptr;  // ?1 the value, ?2 the class or status
  std::optional<std::string> text;
  std::vector<Id128> ids;  // several: each has a range of its own
  std::uint64_t rows = 0;  // about how many it would have to walk
  Facets told = 0;         // the facets that are the same in all its rows
  bool has_facets = false;
};

/// Answers one list query in one read transaction.
///
/// The lead is the index that has to walk the fewest rows: short ranges are counted, long ones
/// estimated from the tallies. Ranges of several classes or statuses are merged, so rows always
/// come in page order (died_at, number) and every row looked at is a place to go on from. Where
/// other filters are among the facets, rows are passed over inside the index.
class Lister {
 public:
  /// `text` reads the payload index; null if there is none.
  Lister(Readers::Turn& turn, Readers::Turn* text, const Query& query);
  [[nodiscard]] Page list();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::vector<Lead> leads() const;
  [[nodiscard]] Lead choose(const Estimates& estimates);
  /// Rows of the lead in the query's time; `if_more` if there are `most` of them and more.
  [[nodiscard]] std::uint64_t count_up_to(const Lead& lead, std::uint64_t most,
                                          std::uint64_t if_more);
  [[nodiscard]] std::uint64_t estimate(const Lead& lead, const Estimates& estimates);
  [[nodiscard]] std::vector<std::int64_t> parts(const Lead& lead) const;

  [[nodiscard]] std::int64_t earliest() const;
  [[nodiscard]] std::int64_t latest() const;
  void start(const Lead& lead, const char* columns, Merge& merge);
  [[nodiscard]] Page walk(const Lead& lead);
  /// Nothing if the page is not full when `most` records have been read.
  [[nodiscard]] std::optional<Page> walk(const Lead& lead, std::size_t most);
  /// Judges one row of the lead and adds it if it fits. False: its record was not even read.
  bool look_at(const Statement& row, bool in_index, Page& page);
  [[nodiscard]] Page search(const Lead& other);
  [[nodiscard]] std::optional<std::vector<std::int64_t>> few_matches();
  [[nodiscard]] Page in_page_order(const std::vector<std::int64_t>& matches);
  /// The records whose ids are asked for.
  [[nodiscard]] Page by_ids();
  [[nodiscard]] bool is_behind_cursor(const Cursor& place) const;
  /// The first of these places, in the query's order.
  [[nodiscard]] Page page_of(std::vector<Cursor> places);
  [[nodiscard]] Page in_index_order();
  /// False: stopped at `place` because the page is full or the time is over.
  [[nodiscard]] bool walk_window(std::int64_t low, std::int64_t high, std::int64_t& place,
                                 Page& page);
  [[nodiscard]] std::int64_t last_match();
  [[nodiscard]] std::int64_t window_up(std::int64_t low, std::int64_t end) const;
  [[nodiscard]] std::int64_t window_down(std::int64_t high) const;
  /// The error index moves with its records. The payload index follows, so its rows are judged.
  void trust_index();
  [[nodiscard]] bool is_seated(const Statement& row, std::int64_t place) const;
  /// Rows of the word index between two of its row numbers, in the query's order. Where the
  /// payload index has not come yet: every record, to be judged.
  [[nodiscard]] Statement& matches_between(std::int64_t low, std::int64_t high);
  [[nodiscard]] Statement& head_at(std::int64_t match);

  void add(Page& page, const Statement& row);
  [[nodiscard]] bool is_over() const { return Clock::now() >= deadline_; }

  Readers::Turn& turn_;
  Readers::Turn* text_;
  const Query& query_;
  RowFilter filter_;
  const FacetMask facets_;
  const bool newest_first_;
  const bool by_error_words_;
  const std::size_t rows_per_look_;  // rows between two looks at the clock, and at least per call
  const Clock::time_point deadline_;
  std::string expression_;
  std::int64_t indexed_ = 0;  // how far the index that leads has come
};

}  // namespace dlo::sqlite
