#include "dlo/store/postgres/lister.h"

#include <algorithm>
#include <limits>

#include "dlo/store/postgres/columns.h"
#include "dlo/store/postgres/reading.h"
#include "dlo/store/postgres/words.h"
#include "dlo/store/row_text.h"
#include "dlo/store/rules.h"
#include "dlo/store/sql/codec.h"

namespace dlo::postgres {

using namespace sql;  // NOLINT: what every office on SQL shares

namespace {

/// So many records are judged one by one before a word index is asked: common words are found
/// sooner like that. More of them where these show that a page is filled within the second number.
constexpr std::size_t first_try = 100;
constexpr std::size_t worth_trying = 3'000;

constexpr std::size_t indexed_bytes = 128;  // of a text

constexpr int facts_column = 34, envelope_column = 35, payload_column = 36;

std::vector<std::int64_t> numbers_of(const std::vector<Status>& statuses) {
  std::vector<std::int64_t> numbers;
  for (const Status status : statuses) numbers.push_back(static_cast<std::int64_t>(status));
  return numbers;
}

}  // namespace

Lister::Lister(Connection& db, const Query& query)
    : db_(db),
      query_(query),
      tests_(query),
      error_words_(words_of(query.error_words)),
      payload_words_(words_of(query.payload_words)),
      statuses_(query.statuses),
      newest_first_(query.order == Order::newest_first),
      place_(query.after) {
  if (statuses_.empty()) {
    for (const Status status : all_statuses()) {
      if (!is_live(status)) statuses_.push_back(status);
    }
  }
  std::ranges::sort(statuses_);
  statuses_.erase(std::ranges::unique(statuses_).begin(), statuses_.end());
  reads_facts_ = tests_.look_at(Part::facts) || !error_words_.empty();
  reads_envelope_ = tests_.look_at(Part::envelope);
  reads_payload_ = tests_.look_at(Part::payload) || !payload_words_.empty();
  const Millis longest = std::chrono::hours{24};
  deadline_ = Clock::now() + std::clamp(query.time_box, Millis{0}, longest);
}

Lister::Clock::duration Lister::time_left() const {
  return deadline_ - Clock::now();
}

std::size_t Lister::chunk() const {
  if (reads_payload_) return std::clamp<std::size_t>(query_.limit, 1, 100);  // they may be large
  const bool is_judged = reads_facts_ || reads_envelope_ || tests_.look_at(Part::head);
  return is_judged ? 500 : std::min<std::size_t>(query_.limit, 10'000);
}

std::size_t Lister::stride() const {
  if (reads_payload_) return 100;
  return reads_facts_ || reads_envelope_ ? 500 : 2'000;
}

std::string Lister::order(const char* table) const {
  const std::string t(table);
  const char* way = newest_first_ ? " DESC" : "";
  return " ORDER BY " + t + ".died_at" + way + ", " + t + ".number" + way;
}

std::string Lister::reverse_order() const {
  const char* way = newest_first_ ? "" : " DESC";
  return std::string(" ORDER BY r.died_at") + way + ", r.number" + way;
}

std::string Lister::columns() const {
  return head_columns + (reads_facts_ ? ", d.facts" : ", NULL::bytea") +
         (reads_envelope_ ? ", b.envelope" : ", NULL::bytea") +
         (reads_payload_ ? ", b.payload" : ", NULL::bytea");
}

std::string Lister::joins() const {
  std::string joins;
  if (reads_facts_) joins += " LEFT JOIN details d ON d.number = r.number";
  if (reads_envelope_ || reads_payload_) joins += " LEFT JOIN bodies b ON b.number = r.number";
  return joins;
}

void Lister::add_text(Statement& s, const char* column,
                      const std::optional<std::string>& value) const {
  if (!value) return;
  s.where += std::string(" AND r.") + column + " = " + s.add(*value);
}

bool Lister::has_lead() const {
  const Query& q = query_;
  return q.source || q.event_type || q.key || q.message_id || q.instance || q.group;
}

/// The fields that lead an index in page order.
void Lister::add_leads(Statement& s) const {
  const Query& q = query_;
  // Those that an index holds the beginning of.
  for (const auto& [column, value] : {std::pair("source", &q.source),
                                      {"event_type", &q.event_type},
                                      {"key", &q.key},
                                      {"message_id", &q.message_id},
                                      {"instance", &q.instance}}) {
    if (!*value) continue;
    const std::string beginning = s.add(std::string_view(**value).substr(0, indexed_bytes));
    s.where += std::string(" AND substr(r.") + column + ", 1, 128) = " + beginning;
    // A short value is its beginning. Asked for both, the planner would take them for two
    // conditions, expect hardly any record and read all of a source to sort them.
    if ((*value)->size() >= indexed_bytes) {
      s.where += std::string(" AND r.") + column + " = " + s.add(**value);
    }
    // For the planner: the index leaves these out.
    if (!(*value)->empty() &&
        (column == std::string_view("key") || column == std::string_view("message_id"))) {
      s.where += std::string(" AND r.") + column + " <> ''";
    }
  }
  if (q.group && q.fingerprints.empty()) s.where += " AND r.grp = " + s.add(*q.group);
  if (q.group && !q.fingerprints.empty())
    s.where += " AND r.grp = ANY(" + s.add(q.fingerprints) + ")";
}

void Lister::add_heads(Statement& s) const {
  const Query& q = query_;
  add_text(s, "category", q.category);
  add_text(s, "error_type", q.error_type);
  add_text(s, "reason", q.reason);
  if (!q.ids.empty()) {
    const std::vector<Id128> ids(q.ids.begin(), q.ids.end());
    s.where += " AND r.id = ANY(" + s.add(ids) + ")";
  }
  if (q.source_unsettled) {
    s.where += std::string(" AND r.flags & ") + std::to_string(flag::source_unsettled) +
               (*q.source_unsettled ? " <> 0" : " = 0");
  }
}

/// By the indexes of words: as cheap as the words are rare.
void Lister::add_words(Statement& s) const {
  const Query& q = query_;
  if (!error_words_.empty()) {
    s.where += " AND r.number IN (SELECT number FROM details WHERE words @> " +
               s.add(word_hashes(q.error_words)) + ")";
  }
  if (!payload_words_.empty()) {
    // What the index has not reached yet is judged by the text. Made into an array first: how many
    // these are the planner cannot know, and would look through them for every record. Each part
    // names an index: beside the price of a table that is read whole, which is forbidden, all
    // other plans would cost the same to the planner.
    s.where += " AND r.number = ANY(ARRAY(SELECT number FROM payload_words WHERE words @> " +
               s.add(word_hashes(q.payload_words)) +
               " UNION ALL SELECT number FROM moved_payloads WHERE n > 0 UNION ALL SELECT number "
               "FROM records WHERE number > (SELECT number FROM payload_progress WHERE one)))";
  }
}

/// Of records that are looked at one by one: no index is asked for all that have the words. Where
/// those of a payload are not known yet, or no longer, its text is judged.
void Lister::add_words_of_each(Statement& s) const {
  if (!error_words_.empty()) {
    s.where += " AND (d.words @> " + s.add(word_hashes(query_.error_words)) + ") IS TRUE";
  }
  if (!payload_words_.empty()) {
    s.where += " AND r.flags & " + std::to_string(flag::payload_searched) +
               " <> 0 AND (NOT EXISTS"
               " (SELECT FROM payload_words w WHERE w.number = r.number AND (w.words @> " +
               s.add(word_hashes(query_.payload_words)) +
               ") IS NOT TRUE) OR EXISTS"
               " (SELECT FROM moved_payloads m WHERE m.number = r.number))";
  }
}

void Lister::add_numbers(Statement& s) const {
  const Query& q = query_;
  const auto bound = [&](const char* test, const auto& value) {
    if (value) s.where += std::string(" AND r.") + test + " " + s.add(*value);
  };
  bound("next_retry_at >=", q.next_retry_from);
  bound("next_retry_at <", q.next_retry_until);
  bound("attempts >", q.attempts_over);
  bound("attempts <", q.attempts_below);
  bound("replays >", q.replays_over);
  bound("replays <", q.replays_below);
  if (q.changed_up_to) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    s.where += " AND r.change <= " + s.add(std::min(*q.changed_up_to, most));
  }
}

void Lister::add_place(Statement& s) const {
  if (query_.from) s.where += " AND r.died_at >= " + s.add(*query_.from);
  if (query_.until) s.where += " AND r.died_at < " + s.add(*query_.until);
  if (!place_) return;
  s.where += std::string(" AND (r.died_at, r.number) ") + (newest_first_ ? "<" : ">") + " (" +
             s.add(place_->died_at);
  s.where += ", " + s.add(place_->number) + ")";
}

/// Ranges that an index holds in page order: of a class where all of it is asked for or another
/// field leads, else of a status.
std::vector<std::string> Lister::parts(bool has_lead) const {
  std::vector<std::string> parts;
  for (const StatusClass each : {StatusClass::live, StatusClass::open, StatusClass::closed}) {
    const std::string whole = "r.class = " + std::to_string(static_cast<int>(each));
    std::vector<std::string> among;
    for (const Status status : statuses_) {
      if (class_of(status) == each) among.push_back(std::to_string(static_cast<int>(status)));
    }
    const auto all = std::ranges::count(all_statuses(), each, class_of);
    if (among.empty()) continue;
    if (static_cast<std::ptrdiff_t>(among.size()) == all) {
      parts.push_back(whole);
    } else if (!has_lead) {
      for (const std::string& status : among) parts.push_back("r.status = " + status);
    } else {
      std::string list;
      for (const std::string& status : among) list += (list.empty() ? "" : ", ") + status;
      parts.push_back(whole + " AND r.status IN (" + list + ")");
    }
  }
  return parts;
}

/// The first rows of all ranges together, in page order.
std::string Lister::merged(const std::vector<std::string>& parts, const std::string& where,
                           const std::string& limit) const {
  std::string rows;
  for (const std::string& part : parts) {
    rows += rows.empty() ? "(" : " UNION ALL (";
    rows += "SELECT r.* FROM records r WHERE " + part;
    rows += where + order("r") + " LIMIT " + limit + ")";
  }
  return "(SELECT * FROM (" + rows + ") r" + order("r") + " LIMIT " + limit + ") r";
}

std::optional<Lister::Step> Lister::seek(Page& page, Clock::duration time) {
  Statement s;
  add_leads(s);
  add_heads(s);
  add_words(s);
  add_numbers(s);
  add_place(s);
  const std::string limit = s.add(chunk());
  std::vector<std::string> ranges = parts(has_lead());
  // Word indexes and ids are looked up once, not once for each range.
  if (by_words() || !query_.ids.empty()) {
    ranges = {"r.status = ANY(" + s.add(numbers_of(statuses_)) + ")"};
  }
  const auto millis = std::chrono::duration_cast<Millis>(time).count();
  const std::string timeout = std::to_string(std::max<std::int64_t>(millis, 1));
  send_snapshot(db_);
  db_.send("SET LOCAL statement_timeout = " + timeout, Params(), Plan::once);
  db_.send("SELECT " + columns() + " FROM " + merged(ranges, s.where, limit) + joins() + order("r"),
           s.params, Plan::once);
  db_.send("COMMIT");
  try {
    const std::vector<Rows> answers = db_.finish();
    const Rows& found = answers[2];
    return take(page, found, static_cast<std::size_t>(found.size()) < chunk());
  } catch (const Failed& failed) {
    if (failed.trouble != Trouble::cancelled) throw;
    db_.run("ROLLBACK");
    return std::nullopt;
  }
}

Lister::Step Lister::walk(Page& page, std::size_t records, Among among) {
  Statement s;
  const bool led = among == Among::led && has_lead();
  if (led) add_leads(s);
  add_place(s);
  const std::string limit = s.add(records);
  const std::string step = merged(parts(led), s.where, limit);
  Statement filter;
  filter.params = s.params;
  if (!led) add_leads(filter);
  add_heads(filter);
  add_words_of_each(filter);
  add_numbers(filter);
  send_snapshot(db_);
  db_.send(
      "SELECT " + columns() + " FROM " + step + joins() + " WHERE true" + filter.where + order("r"),
      filter.params, Plan::once);
  db_.send(
      "SELECT r.died_at, r.number, count(*) OVER () FROM " + step + reverse_order() + " LIMIT 1",
      s.params, Plan::once);
  db_.send("COMMIT");
  const std::vector<Rows> answers = db_.finish();
  if (take(page, answers[1], true) == Step::full) return Step::full;
  if (answers[2].empty()) return Step::end;
  const Row last = answers[2].front();
  place_ = Cursor{last.time(0), last.number(1)};
  return last.as<std::size_t>(2) < records ? Step::end : Step::more;
}

Lister::Step Lister::take(Page& page, const Rows& rows, bool all) {
  for (const Row row : rows) {
    if (page.rows.size() == query_.limit) return Step::full;
    place_ = Cursor{row.time(column::died_at), row.number(column::number)};
    if (fits(row)) add_row(page, row);
  }
  if (page.rows.size() == query_.limit) return Step::full;
  return all ? Step::end : Step::more;
}

bool Lister::fits(const Row& row) const {
  const bool judged = !error_words_.empty() || !payload_words_.empty() ||
                      tests_.look_at(Part::head) || tests_.look_at(Part::facts) ||
                      reads_envelope_ || reads_payload_;
  if (!judged) return true;
  Head head = read_head(row);
  if (!row.is_null(facts_column)) decode_facts(row.view(facts_column), head.record);
  if (!row.is_null(envelope_column)) decode_envelope(row.view(envelope_column), *head.message);
  if (!row.is_null(payload_column)) head.message->payload = row.text(payload_column);
  if (!error_words_.empty() && !has_words(searched_error(head.record.failure), error_words_)) {
    return false;
  }
  if (!payload_words_.empty()) {
    if ((head.flags & flag::payload_searched) == 0) return false;
    if (!has_words(searched_payload(*head.message), payload_words_)) return false;
  }
  return tests_.fit(head.record, Part::head) && tests_.fit(head.record, Part::facts) &&
         tests_.fit(head.record, Part::envelope) && tests_.fit(head.record, Part::payload);
}

void Lister::add_row(Page& page, const Row& row) const {
  page.rows.push_back(read_row(row));
  if ((row.as<std::uint32_t>(column::flags) & flag::text_cut) != 0) {
    page.rows.back().error_text = cut_row_text(row.view(column::error_text));
  }
}

/// How many records more are looked at one by one, after `found` were among the last `walked`.
std::size_t Lister::more_tries(const Page& page, std::size_t found, std::size_t walked) const {
  if (found == 0) return 0;
  const std::size_t missing = query_.limit - page.rows.size();
  const std::size_t expected = missing * walked / found;
  if (expected > worth_trying) return 0;
  return std::min(expected + expected / 4 + first_try, worth_trying);
}

Page Lister::list() {
  Page page;
  if (query_.limit == 0) return page;
  bool may_seek = query_.time_box > Millis{0};
  std::size_t tries = by_words() ? first_try : 0;
  for (;;) {
    std::optional<Step> step;
    if (tries > 0) {
      const std::size_t before = page.rows.size();
      step = walk(page, tries, Among::led);
      tries = more_tries(page, page.rows.size() - before, tries);
    } else if (may_seek && time_left() > Clock::duration{}) {
      step = seek(page, time_left() * 3 / 4);
      may_seek = step.has_value();
    }
    if (!step) step = walk(page, stride(), Among::all);
    if (*step == Step::end) return page;
    page.partial = *step == Step::more && time_left() <= Clock::duration{};
    if (*step == Step::more && !page.partial) continue;
    page.next = place_;
    return page;
  }
}

}  // namespace dlo::postgres
