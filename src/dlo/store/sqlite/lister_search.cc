#include <algorithm>
#include <limits>

#include "dlo/store/sql/head.h"
#include "dlo/store/sqlite/lister.h"
#include "dlo/store/sqlite/payload_index.h"

// Lists that are led by words.
//
// A word index knows its rows by number only, in the order in which they came. Few matches are
// fetched and put into page order. Many are walked in index order, which is the order in which the
// office learnt of the deaths, and the page's cursor says so (`Walk::by_arrival`): the next page
// goes on like that even if few matches are left by then, or the index cannot be read.

namespace dlo::sqlite {
namespace {

/// So many matches are put into page order at once.
constexpr std::size_t few = 1000;
/// So many records are judged one by one before the word index is asked.
constexpr std::size_t tried_rows = 1000;
/// Index rows walked by one statement: what lies between two looks at the clock even if nothing
/// matches. Inside a statement the index cannot be interrupted.
constexpr std::int64_t window = 200'000;

}  // namespace

Page Lister::search(const Lead& other) {
  const bool can_lead = by_error_words_ || text_ != nullptr;
  if (can_lead) indexed_ = by_error_words_ ? last_match() : read_progress(*text_).number;
  if (query_.after && query_.after->walk == Walk::by_arrival) return in_index_order();
  // A handful of rows is sooner judged one by one than found in the index.
  if (!can_lead || other.rows < few) return walk(other);
  // So are common words beside other filters: the word index knows nothing of those, least of all
  // where a range of time ends.
  const bool is_narrowed = query_.from || query_.until || !leads().empty();
  if (is_narrowed) {
    if (auto page = walk(other, tried_rows)) return std::move(*page);
  }
  const auto matches = few_matches();
  if (matches) return in_page_order(*matches);
  // A place in page order, though the matches have become too many to sort: judge row by row.
  if (query_.after) return walk(other);
  return in_index_order();
}

Statement& Lister::matches_between(std::int64_t low, std::int64_t high) {
  const char* order = newest_first_ ? " ORDER BY rowid DESC" : " ORDER BY rowid";
  if (by_error_words_) {
    return turn_(std::string("SELECT rowid FROM error_text WHERE error_text MATCH ? AND rowid"
                             " BETWEEN ? AND ?") +
                 order)
        .bind(expression_, low, high);
  }
  if (low > indexed_) {
    return turn_(std::string("SELECT number FROM records WHERE number BETWEEN ? AND ?") + order)
        .bind(low, high);
  }
  return (*text_)(std::string("SELECT rowid FROM payload_text WHERE payload_text MATCH ? AND rowid"
                              " BETWEEN ? AND ?") +
                  order)
      .bind(expression_, low, high);
}

Statement& Lister::head_at(std::int64_t match) {
  static const std::string by_seat =
      std::string("SELECT ") + head_columns +
      " FROM records WHERE number = coalesce((SELECT number FROM seats WHERE seat = ?1), ?1)";
  static const std::string by_number =
      std::string("SELECT ") + head_columns + " FROM records WHERE number = ?1";
  return turn_(by_error_words_ ? by_seat : by_number).bind(match);
}

std::int64_t Lister::last_match() {
  Rows last(turn_("SELECT value FROM counters WHERE name = 'number'"));
  return last.next() ? last->number(0) : 0;
}

// A window never reaches across the place where the index ends.
std::int64_t Lister::window_up(std::int64_t low, std::int64_t end) const {
  const std::int64_t high = std::min(low + window - 1, end);
  return low <= indexed_ ? std::min(high, indexed_) : high;
}
std::int64_t Lister::window_down(std::int64_t high) const {
  const std::int64_t low = std::max<std::int64_t>(high - window + 1, 1);
  return high > indexed_ ? std::max(low, indexed_ + 1) : low;
}

std::optional<std::vector<std::int64_t>> Lister::few_matches() {
  std::vector<std::int64_t> found;
  const std::int64_t end = last_match();
  for (std::int64_t low = 1; low <= end;) {
    const std::int64_t high = window_up(low, end);
    Rows rows(matches_between(low, high));
    while (rows.next()) {
      if (found.size() == few) return std::nullopt;
      found.push_back(rows->number(0));
    }
    if (high < end && is_over()) return std::nullopt;
    low = high + 1;
  }
  return found;
}

Page Lister::in_page_order(const std::vector<std::int64_t>& matches) {
  trust_index();
  std::vector<Cursor> places;
  for (const std::int64_t match : matches) {
    Rows row(head_at(match));
    if (!row.next() || !is_seated(*row, match) || !filter_.fits(turn_, *row)) continue;
    places.push_back({row->time(column::died_at), row->number(column::number)});
  }
  return page_of(std::move(places));
}

Page Lister::in_index_order() {
  trust_index();
  const std::int64_t end = last_match();
  std::int64_t place = newest_first_ ? end + 1 : 0;  // everything up to here has been looked at
  if (query_.after) place = std::clamp<std::int64_t>(query_.after->number, 0, end + 1);
  Page page;
  while (newest_first_ ? place > 1 : place < end) {
    const std::int64_t low = newest_first_ ? window_down(place - 1) : place + 1;
    const std::int64_t high = newest_first_ ? place - 1 : window_up(place + 1, end);
    const bool whole = walk_window(low, high, place, page);
    if (whole) place = newest_first_ ? low : high;
    if (!whole || is_over()) {
      page.partial = page.rows.size() < query_.limit;
      page.next = Cursor{TimePoint{}, place, Walk::by_arrival};
      return page;
    }
  }
  return page;
}

bool Lister::walk_window(std::int64_t low, std::int64_t high, std::int64_t& place, Page& page) {
  Rows rows(matches_between(low, high));
  for (std::size_t looked_at = 0; rows.next(); ++looked_at) {
    if (page.rows.size() == query_.limit) return false;
    if (looked_at % rows_per_look_ == rows_per_look_ - 1 && is_over()) return false;
    place = rows->number(0);
    Rows row(head_at(place));
    if (row.next() && is_seated(*row, place) && filter_.fits(turn_, *row)) add(page, *row);
  }
  return true;
}

bool Lister::is_seated(const Statement& row, std::int64_t place) const {
  return !by_error_words_ || row.number(column::seat) == place;
}

void Lister::trust_index() {
  if (by_error_words_) filter_.trust_error_words();
}

}  // namespace dlo::sqlite
