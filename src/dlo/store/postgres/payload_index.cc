#include "dlo/store/postgres/payload_index.h"

#include <algorithm>

#include "dlo/store/postgres/seat.h"
#include "dlo/store/postgres/words.h"
#include "dlo/store/rules.h"
#include "dlo/store/sql/head.h"

namespace dlo::postgres {
namespace {

/// Records of one transaction: memory is bounded, and so is the wait of a stop.
constexpr int at_once = 250;

const std::string read_progress = "SELECT o.number, p.number FROM office o, payload_progress p";
const std::string read_arrived =
    "SELECT r.number, substr(b.payload, 1, $3::integer) FROM (SELECT number, flags FROM records "
    "WHERE number > $1 ORDER BY number LIMIT $4) r LEFT JOIN bodies b ON b.number = r.number AND "
    "r.flags & $2 <> 0 ORDER BY r.number";
const std::string take_moved =
    "DELETE FROM moved_payloads WHERE n IN (SELECT n FROM moved_payloads ORDER BY n LIMIT $1) "
    "RETURNING number";
const std::string read_moved =
    "SELECT r.number, substr(b.payload, 1, $3::integer) FROM payload_progress p, "
    "unnest($1::bigint[]) n(number) JOIN records r ON r.number = n.number LEFT JOIN bodies b ON "
    "b.number = r.number AND r.flags & $2 <> 0 WHERE r.number <= p.number";
const std::string write_words =
    "INSERT INTO payload_words(number, words) VALUES($1, $2) ON CONFLICT(number) DO UPDATE SET "
    "words = excluded.words";

/// All that was found are written in one pipeline.
void send_words(Connection& db, const Rows& rows) {
  for (const Row row : rows) {
    const std::string_view text = row.is_null(1) ? std::string_view() : row.view(1);
    const std::vector<std::int32_t> words = word_hashes(text);
    if (!words.empty()) db.send(write_words, Params(row.number(0), words));
  }
}

}  // namespace

PayloadIndex::PayloadIndex(Connection& db, const std::string& schema)
    : db_(db), lock_(advisory_lock("dlo indexes " + schema)) {}

PayloadIndex::Step PayloadIndex::follow() {
  db_.run("BEGIN");
  try {
    const Rows mine = db_.ask("SELECT pg_try_advisory_xact_lock($1)", Params(lock_));
    if (mine.front().number(0) == 0) return db_.run("ROLLBACK"), Step::taken;
    const bool more_arrived = follow_arrived();
    const bool more_moved = follow_moved();
    db_.run("COMMIT");
    return more_arrived || more_moved ? Step::more : Step::caught_up;
  } catch (const Failed& failed) {
    if (failed.trouble != Trouble::lost) db_.run("ROLLBACK");
    throw;
  }
}

/// Numbers are given in the order of commits: whoever reads the last one first finds every record
/// up to it.
bool PayloadIndex::follow_arrived() {
  const Rows before = db_.ask(read_progress);
  const std::int64_t last = before.front().number(0);
  const std::int64_t done = before.front().number(1);
  if (done >= last) return false;
  const Rows rows = db_.ask(
      read_arrived, Params(done, sql::flag::payload_searched, searched_text_limit, at_once));
  const bool more = rows.size() == at_once;
  const std::int64_t reached = rows.empty() ? last : rows[rows.size() - 1].number(0);
  send_words(db_, rows);
  db_.send("UPDATE payload_progress SET number = $1",
           Params(more ? reached : std::max(last, reached)));
  (void)db_.finish();
  return more;
}

bool PayloadIndex::follow_moved() {
  const Rows taken = db_.ask(take_moved, Params(at_once));
  if (taken.empty()) return false;
  std::vector<std::int64_t> numbers;
  for (const Row row : taken) numbers.push_back(row.number(0));
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  const Rows rows =
      db_.ask(read_moved, Params(numbers, sql::flag::payload_searched, searched_text_limit));
  db_.send(
      "DELETE FROM payload_words w USING unnest($1::bigint[]) n(number) WHERE w.number = "
      "n.number",
      Params(numbers));
  send_words(db_, rows);
  (void)db_.finish();
  return taken.size() == at_once;
}

}  // namespace dlo::postgres
