#include "dlo/store/postgres/arrivals.h"

#include "dlo/store/postgres/sheet_rows.h"

namespace dlo::postgres {
namespace {

constexpr std::size_t most_rows = 1'000;
constexpr std::size_t most_bytes = 2U << 20U;  // the server keeps what it unnests in its work_mem

const std::string insert_heads =
    "INSERT INTO records(" + head_names + ") SELECT * FROM " + unnest_of(1, head_width);
// An array of arrays of different lengths there is not: each takes its part of all words.
const std::string insert_facts =
    "INSERT INTO details(number, facts, words, by_retries, first_attempt_at, last_failed_at, "
    "resolved_at, resolved_by, resolution_notes, whole_text) SELECT t.number, t.facts, "
    "($1)[t.first:t.last], t.by_retries, t.first_attempt_at, t.last_failed_at, t.resolved_at, "
    "t.resolved_by, t.resolution_notes, t.whole_text FROM " +
    unnest_of(2, 11) +
    " AS t(number, facts, first, last, by_retries, first_attempt_at, last_failed_at, resolved_at, "
    "resolved_by, resolution_notes, whole_text)";
const std::string insert_bodies =
    "INSERT INTO bodies(number, enqueued_at, envelope, payload) SELECT * FROM " + unnest_of(1, 4);
const std::string insert_attempts =
    "INSERT INTO attempts(number, n, attempt) SELECT * FROM " + unnest_of(1, 3);

std::size_t send_rows(Connection& db, const std::string& sql, RowArrays& rows,
                      Params params = Params()) {
  if (rows.empty()) return 0;
  rows.add_to(params);
  db.send(sql, params);
  return 1;
}

}  // namespace

void Arrivals::add(const Sheet& sheet) {
  with_head(*sheet.head, [this](const auto&... values) { heads_.add(values...); });
  const FactsRow row(sheet);
  const std::size_t first = words_.size() + 1;
  words_.insert(words_.end(), row.words->begin(), row.words->end());
  facts_.add(row.number, row.facts, first, words_.size(), row.by_retries, row.first_attempt_at,
             row.last_failed_at, row.resolved_at, row.resolved_by, row.resolution_notes,
             row.whole_text);
  const Message& message = *sheet.head->record.message;
  bodies_.add(row.number, message.enqueued_at, envelope_of(sheet), view_of(message.payload));
}

void Arrivals::add_attempt(std::int64_t number, std::uint32_t place, std::string_view encoded) {
  attempts_.add(number, place, encoded);
}

bool Arrivals::are_many() const noexcept {
  return heads_.rows() >= most_rows || attempts_.rows() >= 4 * most_rows ||
         heads_.bytes() + facts_.bytes() + bodies_.bytes() + attempts_.bytes() >= most_bytes;
}

std::size_t Arrivals::send(Connection& db) {
  const std::size_t sent =
      send_rows(db, insert_heads, heads_) + send_rows(db, insert_facts, facts_, Params(words_)) +
      send_rows(db, insert_bodies, bodies_) + send_rows(db, insert_attempts, attempts_);
  clear();
  return sent;
}

void Arrivals::clear() noexcept {
  heads_.clear();
  facts_.clear();
  bodies_.clear();
  attempts_.clear();
  words_.clear();
}

}  // namespace dlo::postgres
