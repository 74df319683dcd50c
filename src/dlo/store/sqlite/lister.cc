#include "dlo/store/sqlite/lister.h"

#include <algorithm>
#include <limits>

#include "dlo/store/rules.h"
#include "dlo/store/sqlite/head.h"

namespace dlo::sqlite {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
/// Ranges up to this long are counted before one is chosen.
constexpr std::uint64_t counted_rows = 1000;
/// Rows walked between two looks at the clock, and at least in every call.
constexpr std::size_t rows_per_look = 64;

constexpr const char* status_index = "records_status";

std::int64_t millis(TimePoint time) {
  return time.time_since_epoch().count();
}

/// What is read of a row inside its index; of a whole row it is `head_columns`.
constexpr const char* index_columns = "number, died_at, facets";
constexpr int index_died_at = 1;
constexpr int index_facets = 2;

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

std::string range_sql(const char* columns, const Lead& lead, bool newest_first) {
  const char* direction = newest_first ? " DESC" : "";
  return std::string("SELECT ") + columns + " FROM records INDEXED BY " + lead.index + " WHERE " +
         lead.where + " AND died_at BETWEEN ?3 AND ?4 ORDER BY died_at" + direction + ", number" +
         direction;
}

/// The rest of the rows that died in the same millisecond as the cursor's: a bulk import may have
/// millions of them, so they are entered by number and not skipped one by one.
std::string ties_sql(const char* columns, const Lead& lead, bool newest_first) {
  return std::string("SELECT ") + columns + " FROM records INDEXED BY " + lead.index + " WHERE " +
         lead.where + " AND died_at = ?3 AND number " +
         (newest_first ? "< ?4 ORDER BY number DESC" : "> ?4 ORDER BY number");
}

void bind_value(Statement& statement, const Lead& lead, std::int64_t part) {
  if (lead.text) statement.bind_at(1, *lead.text);
  if (lead.id) statement.bind_at(1, *lead.id);
  statement.bind_at(2, part);
}

std::string all_words(const std::vector<std::string>& words) {
  std::string expression;
  for (const std::string& word : words) {
    expression += expression.empty() ? "\"" : " \"";
    expression += word + "\"";
  }
  return expression;
}

}  // namespace

Lister::Lister(Readers::Turn& turn, Readers::Turn* text, const Query& query)
    : turn_(turn),
      text_(text),
      query_(query),
      filter_(query),
      facets_(facets_of(query)),
      newest_first_(query.order == Order::newest_first),
      by_error_words_(!filter_.error_words().empty()),
      deadline_(Clock::now() + query.time_box),
      expression_(all_words(by_error_words_ ? filter_.error_words() : filter_.payload_words())) {}

Page Lister::list() {
  if (query_.limit == 0 || is_empty_by_tallies()) return {};
  const Lead lead = choose();
  if (expression_.empty()) return walk(lead);
  return search(lead);
}

bool Lister::is_empty_by_tallies() {
  Rows rows(turn_("SELECT source, status, category FROM tallies WHERE count > 0"));
  while (rows.next()) {
    if (query_.source && rows->view(0) != *query_.source) continue;
    if (query_.category && rows->view(2) != *query_.category) continue;
    if (filter_.wants(rows->as<Status>(1))) return false;
  }
  return true;
}

std::vector<Lead> Lister::leads() const {
  std::vector<Lead> found;
  const auto offer = [&](const char* index, const char* where,
                         const std::optional<std::string>& value, Facets told = 0) {
    if (value) found.push_back({index, where, value, std::nullopt, 0, told, told != 0});
  };
  if (query_.message_id && !query_.message_id->empty()) {
    offer("records_message_id", "message_id = ?1 AND message_id <> '' AND class = ?2",
          query_.message_id);
  }
  if (query_.key && !query_.key->empty()) {
    offer("records_key", "key = ?1 AND key <> '' AND class = ?2", query_.key);
  }
  offer("records_instance", "instance = ?1 AND class = ?2", query_.instance);
  if (query_.group) {
    found.push_back({"records_group", "grp = ?1 AND class = ?2", std::nullopt, query_.group, 0,
                     facet::group.bits(), true});
  }
  offer("records_event_type", "event_type = ?1 AND class = ?2", query_.event_type,
        facet::event_type.bits());
  offer("records_source", "source = ?1 AND class = ?2", query_.source, facet::source.bits());
  offer("records_category", "category = ?1 AND class = ?2", query_.category,
        facet::category.bits());
  return found;
}

std::vector<std::int64_t> Lister::parts(const Lead& lead) const {
  std::vector<std::int64_t> wanted;
  for (const Status status : all_statuses()) {
    if (!filter_.wants(status)) continue;
    const auto part = lead.index == status_index ? static_cast<std::int64_t>(status)
                                                 : static_cast<std::int64_t>(class_of(status));
    if (std::find(wanted.begin(), wanted.end(), part) == wanted.end()) wanted.push_back(part);
  }
  return wanted;
}

Lead Lister::choose() {
  Lead best{status_index, "status = ?2", std::nullopt, std::nullopt, 0, 0, true};
  std::vector<Lead> others = leads();
  if (others.empty()) {
    best.rows = std::numeric_limits<std::uint64_t>::max();
    return best;
  }
  best.rows = estimate(best);
  for (Lead& lead : others) {
    lead.rows = count_up_to(lead, counted_rows);
    if (lead.rows >= counted_rows) lead.rows = std::max(lead.rows, estimate(lead));
    if (lead.rows < best.rows) best = lead;
  }
  return best;
}

std::uint64_t Lister::count_up_to(const Lead& lead, std::uint64_t most) {
  const std::string sql = std::string("SELECT count(*) FROM (SELECT 1 FROM records INDEXED BY ") +
                          lead.index + " WHERE " + lead.where + " LIMIT ?3)";
  std::uint64_t rows = 0;
  for (const std::int64_t part : parts(lead)) {
    Statement& count = turn_(sql);
    bind_value(count, lead, part);
    count.bind_at(3, most);
    Rows counted(count);
    if (counted.next()) rows += counted->as<std::uint64_t>(0);
  }
  return rows;
}

std::uint64_t Lister::estimate(const Lead& lead) {
  const bool by_source = lead.index == std::string_view("records_source");
  const bool by_category = lead.index == std::string_view("records_category");
  const bool by_status = lead.index == status_index;
  const std::vector<std::int64_t> wanted = parts(lead);
  std::uint64_t all = 0;
  std::uint64_t known = 0;
  Rows rows(turn_("SELECT source, status, category, count FROM tallies WHERE count > 0", 1));
  while (rows.next()) {
    const auto status = rows->as<Status>(1);
    const auto part =
        by_status ? static_cast<std::int64_t>(status) : static_cast<std::int64_t>(class_of(status));
    if (std::find(wanted.begin(), wanted.end(), part) == wanted.end()) continue;
    all += rows->as<std::uint64_t>(3);
    if ((by_source && rows->view(0) != *lead.text) ||
        (by_category && rows->view(2) != *lead.text)) {
      continue;
    }
    known += rows->as<std::uint64_t>(3);
  }
  if (by_source || by_category || by_status) return known;
  if (lead.id) {
    Rows group(turn_("SELECT total FROM groups WHERE fingerprint = ?").bind(*lead.id));
    if (group.next()) return group->as<std::uint64_t>(0);
  }
  return all / 8;  // nothing is known of it but that it is not rare
}

Page Lister::walk(const Lead& lead) {
  std::int64_t low = query_.from ? millis(*query_.from) : lowest;
  std::int64_t high = query_.until ? millis(*query_.until) - 1 : highest;
  const bool in_index = lead.has_facets && (facets_.bits & ~lead.told) != 0;
  const char* columns = in_index ? index_columns : head_columns;
  Merge merge(newest_first_, in_index);
  char slot = 2;
  const auto start = [&](const std::string& sql, std::int64_t part, auto third, auto fourth) {
    Statement& rows = turn_(sql, slot++);
    bind_value(rows, lead, part);
    rows.bind_from(3, third, fourth);
    merge.add(rows);
  };
  const std::vector<std::int64_t> wanted = parts(lead);
  if (query_.after) {
    const std::int64_t died_at = millis(query_.after->died_at);
    if (died_at >= low && died_at <= high) {
      for (const std::int64_t part : wanted) {
        start(ties_sql(columns, lead, newest_first_), part, died_at, query_.after->number);
      }
    }
    if (newest_first_) {
      if (died_at == lowest) return {};
      high = std::min(high, died_at - 1);
    } else {
      if (died_at == highest) return {};
      low = std::max(low, died_at + 1);
    }
  }
  for (const std::int64_t part : wanted) {
    start(range_sql(columns, lead, newest_first_), part, low, high);
  }

  Page page;
  std::size_t looked_at = 0;
  for (Range* row = merge.front(); row != nullptr; row = merge.front()) {
    if (page.rows.size() == query_.limit) return page;
    page.partial = looked_at % rows_per_look == rows_per_look - 1 && is_over();
    if (page.partial) return page;
    ++looked_at;
    page.next = Cursor{TimePoint{Millis{row->died_at}}, row->number};
    look_at(*row->rows, in_index, page);
    row->next();
  }
  page.next.reset();
  return page;
}

void Lister::look_at(const Statement& row, bool in_index, Page& page) {
  if (!in_index) {
    if (filter_.fits(turn_, row)) add(page, row);
    return;
  }
  if (!facets_.may_fit(row.number(index_facets))) return;
  static const std::string whole =
      std::string("SELECT ") + head_columns + " FROM records WHERE number = ?";
  Rows head(turn_(whole, 1).bind(row.number(column::number)));
  if (head.next() && filter_.fits(turn_, *head)) add(page, *head);
}

void Lister::add(Page& page, const Statement& row) {
  page.rows.push_back(read_row(row));
  if ((row.as<std::uint32_t>(column::flags) & flag::text_cut) != 0) {
    page.rows.back().error_text = read_failure(turn_, row).text;
  }
}

}  // namespace dlo::sqlite
