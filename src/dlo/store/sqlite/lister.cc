#include "dlo/store/sqlite/lister.h"

#include <algorithm>
#include <limits>

#include "dlo/store/row_text.h"
#include "dlo/store/rules.h"
#include "dlo/store/sql/head.h"
#include "dlo/store/sqlite/merge.h"

namespace dlo::sqlite {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
/// Ranges up to this long are counted before one is chosen.
constexpr std::uint64_t counted_rows = 1000;
constexpr std::size_t heads_per_look = 64;
constexpr std::size_t bodies_per_look = 4;  // a payload may be large

constexpr std::string_view status_index = "records_status";
constexpr std::string_view source_index = "records_source";
constexpr std::string_view category_index = "records_category";

std::int64_t millis(TimePoint time) {
  return time.time_since_epoch().count();
}

std::string range_sql(const char* columns, const Lead& lead, bool newest_first) {
  const char* direction = newest_first ? " DESC" : "";
  return std::string("SELECT ") + columns + " FROM records INDEXED BY " + std::string(lead.index) +
         " WHERE " + lead.where + " AND died_at BETWEEN ?3 AND ?4 ORDER BY died_at" + direction +
         ", number" + direction;
}

/// The rest of the rows that died in the same millisecond as the cursor's: a bulk import may have
/// millions of them, so they are entered by number and not skipped one by one.
std::string ties_sql(const char* columns, const Lead& lead, bool newest_first) {
  return std::string("SELECT ") + columns + " FROM records INDEXED BY " + std::string(lead.index) +
         " WHERE " + lead.where + " AND died_at = ?3 AND number " +
         (newest_first ? "< ?4 ORDER BY number DESC" : "> ?4 ORDER BY number");
}

/// One range of a lead: an id of it, if it has any, and a class or status.
struct Part {
  const Id128* id = nullptr;
  std::int64_t part = 0;
};

void bind_value(Statement& statement, const Lead& lead, const Part& part) {
  if (lead.text) statement.bind_at(1, *lead.text);
  if (part.id != nullptr) statement.bind_at(1, *part.id);
  statement.bind_at(2, part.part);
}

std::vector<Part> ranges_of(const Lead& lead, const std::vector<std::int64_t>& parts) {
  std::vector<Part> ranges;
  for (const std::int64_t part : parts) {
    for (const Id128& id : lead.ids) ranges.push_back({&id, part});
    if (lead.ids.empty()) ranges.push_back({nullptr, part});
  }
  return ranges;
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
      rows_per_look_(filter_.reads_bodies() ? bodies_per_look : heads_per_look),
      deadline_(Clock::now() + query.time_box),
      expression_(all_words(by_error_words_ ? filter_.error_words() : filter_.payload_words())) {}

Page Lister::list() {
  if (query_.limit == 0) return {};
  const Estimates estimates = read_estimates(turn_, query_, filter_);
  if (estimates.nothing_fits) return {};
  const bool by_arrival = query_.after && query_.after->walk == Walk::by_arrival;
  if (!query_.ids.empty() && !by_arrival) return by_ids();
  const Lead lead = choose(estimates);
  if (expression_.empty()) return walk(lead);
  return search(lead);
}

Page Lister::by_ids() {
  static const std::string by_id =
      std::string("SELECT ") + head_columns + " FROM records WHERE id = ?";
  std::vector<RecordId> wanted = query_.ids;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<Cursor> places;
  for (const RecordId& id : wanted) {
    Rows row(turn_(by_id).bind(id));
    if (!row.next() || !filter_.fits(turn_, *row)) continue;
    places.push_back({row->time(column::died_at), row->number(column::number)});
  }
  return page_of(std::move(places));
}

bool Lister::is_behind_cursor(const Cursor& place) const {
  if (!query_.after) return true;
  return newest_first_ ? place < *query_.after : place > *query_.after;
}

Page Lister::page_of(std::vector<Cursor> places) {
  Page page;
  std::erase_if(places, [this](const Cursor& place) { return !is_behind_cursor(place); });
  std::sort(places.begin(), places.end());
  if (newest_first_) std::reverse(places.begin(), places.end());
  const std::size_t count = std::min(places.size(), query_.limit);
  for (std::size_t i = 0; i < count; ++i) {
    Rows row(turn_(std::string("SELECT ") + head_columns + " FROM records WHERE number = ?", 1)
                 .bind(places[i].number));
    if (row.next()) add(page, *row);
  }
  if (count < places.size()) page.next = places[count - 1];
  return page;
}

std::vector<Lead> Lister::leads() const {
  std::vector<Lead> found;
  const auto offer = [&](std::string_view index, const char* where,
                         const std::optional<std::string>& value, Facets told = 0) {
    if (value) found.push_back({index, where, value, {}, 0, told, told != 0});
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
    std::vector<Id128> ids = query_.fingerprints;
    if (ids.empty()) ids.push_back(*query_.group);
    found.push_back({"records_group", "grp = ?1 AND class = ?2", std::nullopt, std::move(ids), 0,
                     facet::group.bits(), true});
  }
  offer("records_event_type", "event_type = ?1 AND class = ?2", query_.event_type,
        facet::event_type.bits());
  offer(source_index, "source = ?1 AND class = ?2", query_.source, facet::source.bits());
  offer(category_index, "category = ?1 AND class = ?2", query_.category, facet::category.bits());
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

Lead Lister::choose(const Estimates& estimates) {
  Lead best{status_index, "status = ?2", std::nullopt, {}, estimates.by_status, 0, true};
  const bool in_time = query_.from || query_.until;
  if (in_time) best.rows = std::min(best.rows, count_up_to(best, counted_rows, best.rows));
  for (Lead& lead : leads()) {
    lead.rows = count_up_to(lead, counted_rows, estimate(lead, estimates));
    if (lead.rows < best.rows) best = lead;
  }
  return best;
}

std::uint64_t Lister::count_up_to(const Lead& lead, std::uint64_t most, std::uint64_t if_more) {
  const std::string sql = std::string("SELECT count(*) FROM (SELECT 1 FROM records INDEXED BY ") +
                          std::string(lead.index) + " WHERE " + lead.where +
                          " AND died_at BETWEEN ?3 AND ?4 LIMIT ?5)";
  std::uint64_t rows = 0;
  for (const Part& part : ranges_of(lead, parts(lead))) {
    Statement& count = turn_(sql);
    bind_value(count, lead, part);
    count.bind_from(3, earliest(), latest(), most);
    Rows counted(count);
    if (counted.next()) rows += counted->as<std::uint64_t>(0);
    if (rows >= most) return std::max(rows, if_more);
  }
  return rows;
}

std::uint64_t Lister::estimate(const Lead& lead, const Estimates& estimates) {
  if (lead.index == source_index) return estimates.by_source;
  if (lead.index == category_index) return estimates.by_category;
  if (!lead.ids.empty()) {
    Rows group(turn_("SELECT total FROM groups WHERE fingerprint = ?").bind(lead.ids.front()));
    if (group.next()) return group->as<std::uint64_t>(0);
  }
  return estimates.all / 8;  // nothing is known of it but that it is not rare
}

std::int64_t Lister::earliest() const {
  return query_.from ? millis(*query_.from) : lowest;
}
std::int64_t Lister::latest() const {
  if (!query_.until) return highest;
  return std::max(millis(*query_.until), lowest + 1) - 1;
}

/// The rows of `lead` behind the cursor, one range per class or status, or two.
void Lister::start(const Lead& lead, const char* columns, Merge& merge) {
  std::int64_t low = earliest();
  std::int64_t high = latest();
  char slot = 2;
  const auto add = [&](const std::string& sql, std::int64_t third, std::int64_t fourth) {
    for (const Part& part : ranges_of(lead, parts(lead))) {
      Statement& rows = turn_(sql, slot++);
      bind_value(rows, lead, part);
      rows.bind_from(3, third, fourth);
      merge.add(rows);
    }
  };
  if (query_.after) {
    const std::int64_t died_at = millis(query_.after->died_at);
    if (died_at >= low && died_at <= high) {
      add(ties_sql(columns, lead, newest_first_), died_at, query_.after->number);
    }
    if (died_at == (newest_first_ ? lowest : highest)) return;
    if (newest_first_) {
      high = std::min(high, died_at - 1);
    } else {
      low = std::max(low, died_at + 1);
    }
  }
  add(range_sql(columns, lead, newest_first_), low, high);
}

Page Lister::walk(const Lead& lead) {
  return *walk(lead, std::numeric_limits<std::size_t>::max());
}

std::optional<Page> Lister::walk(const Lead& lead, std::size_t most) {
  const bool in_index = lead.has_facets && (facets_.bits & ~lead.told) != 0;
  Merge merge(newest_first_, in_index);
  start(lead, in_index ? index_columns : head_columns, merge);
  Page page;
  std::size_t looked_at = 0;
  for (Range* row = merge.front(); row != nullptr; row = merge.front()) {
    if (page.rows.size() == query_.limit) return page;
    page.partial = looked_at % rows_per_look_ == rows_per_look_ - 1 && is_over();
    if (page.partial) return page;
    ++looked_at;
    page.next = Cursor{TimePoint{Millis{row->died_at}}, row->number};
    if (look_at(*row->rows, in_index, page) && most-- == 0) return std::nullopt;
    row->next();
  }
  page.next.reset();
  return page;
}

bool Lister::look_at(const Statement& row, bool in_index, Page& page) {
  if (!in_index) {
    if (filter_.fits(turn_, row)) add(page, row);
    return true;
  }
  if (!facets_.may_fit(row.number(index_facets))) return false;
  static const std::string whole =
      std::string("SELECT ") + head_columns + " FROM records WHERE number = ?";
  Rows head(turn_(whole, 1).bind(row.number(column::number)));
  if (head.next() && filter_.fits(turn_, *head)) add(page, *head);
  return true;
}

void Lister::add(Page& page, const Statement& row) {
  page.rows.push_back(read_row(row));
  if ((row.as<std::uint32_t>(column::flags) & flag::text_cut) != 0) {
    page.rows.back().error_text = cut_row_text(row.view(column::error_text));
  }
}

}  // namespace dlo::sqlite
