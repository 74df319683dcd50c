#include "dlo/store/postgres/shelves.h"

#include <algorithm>
#include <array>
#include <vector>

#include "dlo/store/postgres/schema.h"
#include "dlo/store/postgres/seat.h"

namespace dlo::postgres {
namespace {

/// Each has a part on every shelf.
constexpr std::array tables{"bodies", "attempts", "payload_words"};

/// What waits for readers makes others wait behind it: not for long.
const std::string wait_a_moment = "SET LOCAL lock_timeout = '500ms'";
constexpr std::string_view lock_not_available = "55P03";
/// Removed records whose remains are deleted in one transaction.
constexpr std::int64_t cleared_at_once = 1000;

const std::string read_standing =
    "SELECT o.number, (SELECT coalesce(max(next), 0) FROM shelves), s.first, s.next, "
    "s.opened_at IS NOT NULL, "
    "coalesce(s.opened_at <= now() - $1 * interval '1 millisecond', false) "
    "FROM office o LEFT JOIN shelves s ON o.number + 1 >= s.first AND o.number + 1 < s.next";

constexpr std::int64_t first_number = 1;

std::string part(const std::string& table, std::int64_t first) {
  return table + "_" + std::to_string(first);
}

void attach(Connection& db, const std::string& table, std::int64_t first, std::int64_t next) {
  const std::string from = first == first_number ? "MINVALUE" : std::to_string(first);
  db.run("ALTER TABLE " + table + " ATTACH PARTITION " + part(table, first) + " FOR VALUES FROM (" +
         from + ") TO (" + std::to_string(next) + ")");
}

void note_shelf(Connection& db, std::int64_t first, std::int64_t next, bool is_open) {
  (void)db.ask(std::string("INSERT INTO shelves(first, next, opened_at) VALUES($1, $2, ") +
                   (is_open ? "now())" : "NULL)"),
               Params(first, next), Plan::once);
}

void make_shelf(Connection& db, std::int64_t first, std::int64_t next, bool is_open) {
  for (const char* table : tables) {
    db.run("CREATE TABLE " + part(table, first) + "(LIKE " + table + " INCLUDING ALL)");
    attach(db, table, first, next);
  }
  note_shelf(db, first, next, is_open);
}

}  // namespace

void attach_first_shelf(Connection& db, const ShelfRules& rules) {
  const Rows rows = db.ask("SELECT number FROM office", Params(), Plan::once);
  const std::int64_t end = rows.front().number(0) + first_number + rules.width;
  for (const char* table : tables) attach(db, table, first_number, end);
  note_shelf(db, first_number, end, true);
  make_shelf(db, end, end + rules.width, false);
}

ShelfKeeper::ShelfKeeper(Connection& db, const std::string& schema, ShelfRules rules)
    : db_(db),
      lock_(advisory_lock("dlo keeps the shelves of " + schema)),
      office_lock_(writing_lock(schema)),
      rules_(rules) {}

bool ShelfKeeper::in_turn(const std::function<void()>& body) {
  db_.run("BEGIN");
  try {
    db_.run(wait_a_moment);
    const Rows mine = db_.ask("SELECT pg_try_advisory_xact_lock($1)", Params(lock_));
    if (mine.front().number(0) == 0) return db_.run("ROLLBACK"), false;
    body();
    db_.run("COMMIT");
    return true;
  } catch (const Failed& failed) {
    if (failed.trouble == Trouble::lost) throw;
    db_.run("ROLLBACK");
    const bool passes = failed.state == lock_not_available || failed.trouble == Trouble::collision;
    if (!passes) throw;
    return false;
  }
}

void ShelfKeeper::in_turn_counted(std::int64_t& count, const std::function<bool()>& body) {
  bool did = false;
  if (in_turn([&] { did = body(); }) && did) ++count;
}

void ShelfKeeper::lock_office() {
  (void)db_.ask("SELECT pg_advisory_xact_lock($1)", Params(office_lock_));
}

ShelfKeeper::Standing ShelfKeeper::standing() {
  const Rows rows = db_.ask(read_standing, Params(rules_.written_for.count()));
  const Row row = rows.front();
  Standing at;
  at.number = row.number(0);
  at.last = row.number(1);
  if (row.is_null(2)) return at;
  at.first = row.number(2);
  at.next = row.number(3);
  at.is_opened = row.number(4) != 0;
  at.is_old = row.number(5) != 0;
  return at;
}

ShelfWork ShelfKeeper::keep() {
  work_ = {};
  Standing at = standing();
  if (!at.first) make_here();
  if (at.first && !at.is_opened) note_opened(at);
  if (at.first && at.last == *at.next) {
    make_ahead(at);
    at = standing();
  }
  if (at.first && is_due_to_leave(at)) leave();
  drop_empty();
  clear();
  return work_;
}

/// Numbers went on to the next shelf because the one before is full.
void ShelfKeeper::note_opened(const Standing& at) {
  (void)in_turn([&] {
    (void)db_.ask("UPDATE shelves SET filled = next - 1 WHERE filled IS NULL AND next <= $1",
                  Params(*at.first), Plan::once);
    (void)db_.ask("UPDATE shelves SET opened_at = now() WHERE first = $1 AND opened_at IS NULL",
                  Params(*at.first), Plan::once);
  });
}

void ShelfKeeper::make_ahead(const Standing& at) {
  in_turn_counted(work_.made, [&] {
    if (standing().last != at.last) return false;
    make_shelf(db_, at.last, at.last + rules_.width, false);
    return true;
  });
}

/// The writers were quicker than we, or nobody could make shelves for long: what was written
/// meanwhile lies beside them and stays there.
void ShelfKeeper::make_here() {
  in_turn_counted(work_.made, [&] {
    lock_office();
    const Standing at = standing();
    if (at.first) return false;
    (void)db_.ask("UPDATE shelves SET filled = next - 1 WHERE filled IS NULL", Params(),
                  Plan::once);
    make_shelf(db_, at.number + 1, at.number + 1 + rules_.width, true);
    return true;
  });
}

bool ShelfKeeper::is_due_to_leave(const Standing& at) const {
  const std::int64_t given = at.number + 1 - *at.first;
  return at.is_old && at.last > *at.next && given >= rules_.least;
}

void ShelfKeeper::leave() {
  in_turn_counted(work_.left, [&] {
    lock_office();
    const Standing at = standing();
    if (!at.first || !is_due_to_leave(at)) return false;
    (void)db_.ask("UPDATE shelves SET filled = $2 WHERE first = $1", Params(*at.first, at.number),
                  Plan::once);
    (void)db_.ask("UPDATE shelves SET opened_at = now() WHERE first = $1", Params(*at.next),
                  Plan::once);
    (void)db_.ask("UPDATE office SET number = $1 - 1", Params(*at.next), Plan::once);
    return true;
  });
}

/// No record can come to a shelf that is filled: its numbers are never given again.
void ShelfKeeper::drop_empty() {
  const Rows empty = db_.ask(
      "SELECT first FROM shelves s WHERE filled IS NOT NULL AND NOT EXISTS "
      "(SELECT FROM records r WHERE r.number >= s.first AND r.number < s.next) ORDER BY first");
  for (const Row row : empty) drop(row.number(0));
}

/// One table at a time: who reads several of them and we do not wait for each other.
void ShelfKeeper::drop(std::int64_t first) {
  for (const char* table : tables) {
    if (!in_turn([&] { db_.run("DROP TABLE IF EXISTS " + part(table, first)); })) return;
  }
  in_turn_counted(work_.dropped, [&] {
    const std::string forget = "DELETE FROM shelves WHERE first = $1";
    return db_.ask(forget, Params(first), Plan::once).written() == 1;
  });
}

void ShelfKeeper::clear() {
  const Rows due = db_.ask(
      "SELECT first, next, gone FROM shelves WHERE gone > 0 AND gone_since <= now() - $1 * "
      "interval '1 millisecond' ORDER BY first",
      Params(rules_.cleared_after.count()));
  for (const Row row : due) {
    std::int64_t after = row.number(0) - 1;
    while (clear_some(row.number(0), row.number(1), after)) {
    }
    if (after < row.number(1)) return;
    (void)in_turn([&] {
      (void)db_.ask(
          "UPDATE shelves SET gone = gone - $2, gone_since = CASE gone WHEN $2 THEN NULL ELSE "
          "now() END WHERE first = $1",
          Params(row.number(0), row.number(2)), Plan::once);
    });
  }
}

/// False: that was the last of them (`after` is the end), or somebody stood in the way.
bool ShelfKeeper::clear_some(std::int64_t first, std::int64_t next, std::int64_t& after) {
  std::vector<std::int64_t> numbers;
  const bool done = in_turn([&] {
    const Rows left = db_.ask(
        "SELECT b.number FROM bodies b WHERE b.number >= $1 AND b.number < $2 AND b.number > $3 "
        "AND NOT EXISTS (SELECT FROM records r WHERE r.number = b.number) ORDER BY b.number "
        "LIMIT $4",
        Params(first, next, after, cleared_at_once), Plan::once);
    for (const Row row : left) numbers.push_back(row.number(0));
    for (const char* table : tables) {
      (void)db_.ask(std::string("DELETE FROM ") + table +
                        " WHERE number >= $1 AND number < $2 AND number = ANY($3)",
                    Params(first, next, numbers), Plan::once);
    }
  });
  if (!done) return false;
  work_.cleared += static_cast<std::int64_t>(numbers.size());
  const bool more = static_cast<std::int64_t>(numbers.size()) == cleared_at_once;
  after = more ? numbers.back() : next;
  return more;
}

}  // namespace dlo::postgres
