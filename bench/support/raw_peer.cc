#include "support/raw_peer.h"

#include <cstdio>
#include <cstdlib>
#include <sqlite3.h>
#include <string_view>

#include "dlo/core/trend.h"
#include "dlo/store/rules.h"
#include "dlo/store/sql/codec.h"
#include "dlo/store/sql/head.h"
#include "dlo/store/sqlite/books.h"
#include "dlo/store/sqlite/facets.h"
#include "dlo/store/sqlite/opening.h"

namespace dlo::bench {
namespace {

[[noreturn]] void die(sqlite3* db) {
  std::fprintf(stderr, "raw peer: %s\n", sqlite3_errmsg(db));
  std::abort();
}

std::string bytes_of(const Id128& id) {
  std::string bytes;
  sqlite::Encoder(bytes).id(id);
  return bytes;
}

class Binder {
 public:
  explicit Binder(sqlite3_stmt* statement) : statement_(statement) {}
  Binder& number(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++place_, value);
    return *this;
  }
  Binder& text(std::string_view value) {
    sqlite3_bind_text(statement_, ++place_, value.data(), static_cast<int>(value.size()),
                      SQLITE_STATIC);
    return *this;
  }
  Binder& blob(std::string_view value) {
    sqlite3_bind_blob(statement_, ++place_, value.data(), static_cast<int>(value.size()),
                      SQLITE_STATIC);
    return *this;
  }
  Binder& null() {
    sqlite3_bind_null(statement_, ++place_);
    return *this;
  }
  void run() {
    if (sqlite3_step(statement_) != SQLITE_DONE) die(sqlite3_db_handle(statement_));
    sqlite3_reset(statement_);
  }

 private:
  sqlite3_stmt* statement_;
  int place_ = 0;
};

}  // namespace

std::vector<RawRow> raw_rows(const std::vector<Change>& appends) {
  std::vector<RawRow> rows;
  for (const Change& change : appends) {
    const Append& append = std::get<Append>(change);
    RawRow row;
    row.record = append.record.get();
    row.id = bytes_of(append.record->id);
    row.group = bytes_of(append.record->fingerprint.hash);
    row.envelope = sqlite::encode_envelope(*append.record->message);
    row.facts = sqlite::encode_facts(*append.record);
    row.words = searched_error(append.record->failure);
    row.facets = sqlite::facets_of(*append.record);
    for (const Attempt& attempt : append.attempts) {
      row.attempts.push_back(sqlite::encode_attempt(attempt));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

RawPeer::RawPeer(const std::string& directory) {
  const std::string path = directory + "/raw.db";
  sqlite::Damage none;
  sqlite::open_current(path, none)->leave_log(false);
  if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) !=
      SQLITE_OK) {
    die(db_);
  }
  run(sqlite::writer_settings());
  head_ = prepare(
      "INSERT INTO records(number, next_retry_at, due_at, lease, lease_until, version, change, "
      "fetches, attempts, failures, abandons, retries, replays, total, most, flags, tries, status, "
      "class, occurrence, source, category, grp, event_type, key, message_id, reason, error_type, "
      "died_at, payload_size, seat, kind, instance, error_text, id, facets) VALUES(?1, NULL, NULL, "
      "NULL, "
      "NULL, 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 16, ?10, ?11, 1, 1, ?12, ?13, ?14, ?15, ?16, "
      "?17, ?18, ?19, ?20, ?21, ?1, NULL, NULL, ?22, ?23, ?24) ON CONFLICT(id) DO NOTHING");
  body_ = prepare("INSERT OR REPLACE INTO bodies VALUES(?, ?, NULL, NULL, NULL, ?, ?)");
  facts_ = prepare("INSERT INTO details VALUES(?, ?)");
  attempt_ = prepare("INSERT INTO attempts VALUES(?, ?, ?)");
  words_ = prepare("INSERT INTO error_text(rowid, words) VALUES(?, ?)");
  tally_ = prepare(
      "INSERT INTO tallies VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + "
      "excluded.count");
  read_group_ = prepare(std::string("SELECT ") + sqlite::group_columns +
                        " FROM groups WHERE fingerprint = ?");
  read_strand_ = prepare(std::string("SELECT ") + sqlite::strand_columns +
                         " FROM strands WHERE fingerprint = ?");
  group_ = prepare(std::string("INSERT OR REPLACE INTO groups(") + sqlite::group_columns +
                   ") VALUES(?, ?, 0, '', '', '', NULL, ?, ?, ?, ?, ?, ?, ?, 0, NULL, NULL, 0, "
                   "x'', ?, 0)");
  counter_ = prepare("UPDATE counters SET value = ?2 WHERE name = ?1");
  find_ = prepare(std::string("SELECT ") + sqlite::head_columns + " FROM records WHERE id = ?");
  read_facts_ = prepare("SELECT facts FROM details WHERE number = ?");
  resolve_ = prepare(
      "UPDATE records SET next_retry_at = NULL, due_at = NULL, lease = NULL, lease_until = NULL, "
      "version = 2, change = ?2, fetches = 3, attempts = 3, failures = 3, abandons = 0, retries = "
      "2, replays = 0, total = 3, most = 3, flags = 16, tries = 3, status = ?3, class = 2 WHERE "
      "number = ?1");
  write_facts_ = prepare("UPDATE details SET facts = ?2 WHERE number = ?1");
}

RawPeer::~RawPeer() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

sqlite3_stmt* RawPeer::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    die(db_);
  }
  statements_.push_back(statement);
  return statement;
}

void RawPeer::run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) die(db_);
}

void RawPeer::insert(const RawRow& row) {
  const DeadLetter& r = *row.record;
  const Message& m = *r.message;
  const std::int64_t number = ++number_;
  Binder head(head_);
  head.number(number);
  for (const std::uint32_t counter :
       {r.counters.fetch, r.counters.attempt, r.counters.failure, r.counters.abandon,
        r.counters.retry, r.counters.replay, r.counters.total, r.limit}) {
    head.number(counter);
  }
  head.number(static_cast<std::int64_t>(row.attempts.size()))
      .number(static_cast<std::int64_t>(r.status))
      .text(m.source)
      .text(r.category)
      .blob(row.group)
      .text(m.event_type)
      .text(m.key)
      .text(m.id)
      .text(r.reason)
      .text(r.failure.type)
      .number(r.died_at.time_since_epoch().count())
      .number(static_cast<std::int64_t>(m.payload->size()))
      .text(sqlite::head_text(r))
      .blob(row.id)
      .number(row.facets)
      .run();
  Binder(body_).number(number).number(0).blob(row.envelope).blob(*m.payload).run();
  Binder(facts_).number(number).blob(row.facts).run();
  for (std::size_t n = 0; n < row.attempts.size(); ++n) {
    Binder(attempt_)
        .number(number)
        .number(static_cast<std::int64_t>(n))
        .blob(row.attempts[n])
        .run();
  }
  indexed_.emplace_back(number, &row);
  ++tallies_[{m.source, {static_cast<int>(r.status), r.category}}];
  GroupMoves& group = groups_[row.group];
  group.newest = &row;
  ++group.open;
  group.deaths.push_back(r.died_at);
}

void RawPeer::append(std::span<const RawRow> rows) {
  run("BEGIN IMMEDIATE");
  for (const RawRow& row : rows) insert(row);
  for (const auto& [number, row] : indexed_) Binder(words_).number(number).text(row->words).run();
  indexed_.clear();
  write_books();
  run("COMMIT");
}

// As the office does: a group nobody has seen may have been merged into another, so the strands are
// asked; one that is known and was never merged is read and written, its trend with it.
void RawPeer::write_group(const std::string& fingerprint, const GroupMoves& moves) {
  const DeadLetter& record = *moves.newest->record;
  std::int64_t open = moves.open;
  std::int64_t total = static_cast<std::int64_t>(moves.deaths.size());
  std::int64_t first_seen = record.died_at.time_since_epoch().count();
  Trend trend;
  sqlite3_bind_blob(read_group_, 1, fingerprint.data(), 16, SQLITE_STATIC);
  if (sqlite3_step(read_group_) == SQLITE_ROW) {
    open += sqlite3_column_int64(read_group_, 7);
    total += sqlite3_column_int64(read_group_, 8);
    first_seen = sqlite3_column_int64(read_group_, 9);
    trend = sqlite::decode_trend({static_cast<const char*>(sqlite3_column_blob(read_group_, 19)),
                                  static_cast<std::size_t>(sqlite3_column_bytes(read_group_, 19))});
  } else {
    sqlite3_bind_blob(read_strand_, 1, fingerprint.data(), 16, SQLITE_STATIC);
    if (sqlite3_step(read_strand_) != SQLITE_DONE) die(db_);
    sqlite3_reset(read_strand_);
  }
  sqlite3_reset(read_group_);
  for (const TimePoint at : moves.deaths) count_deaths(trend, at, 1);
  Binder(group_)
      .blob(fingerprint)
      .text(record.fingerprint.title)
      .number(open)
      .number(total)
      .number(first_seen)
      .number(record.died_at.time_since_epoch().count())
      .blob(moves.newest->id)
      .text(record.category)
      .text(record.message->source)
      .blob(sqlite::encode_trend(trend))
      .run();
}

void RawPeer::write_books() {
  for (const auto& [key, count] : tallies_) {
    Binder(tally_)
        .text(key.first)
        .number(key.second.first)
        .text(key.second.second)
        .number(count)
        .run();
  }
  tallies_.clear();
  for (const auto& [fingerprint, moves] : groups_) write_group(fingerprint, moves);
  groups_.clear();
  Binder(counter_).text("change").number(number_).run();
  Binder(counter_).text("number").number(number_).run();
}

void RawPeer::resolve(std::span<const RawRow> rows) {
  run("BEGIN IMMEDIATE");
  for (const RawRow& row : rows) {
    sqlite3_bind_blob(find_, 1, row.id.data(), 16, SQLITE_STATIC);
    if (sqlite3_step(find_) != SQLITE_ROW) die(db_);
    const std::int64_t number = sqlite3_column_int64(find_, 0);
    sqlite3_reset(find_);
    sqlite3_bind_int64(read_facts_, 1, number);
    if (sqlite3_step(read_facts_) != SQLITE_ROW) die(db_);
    std::string facts(static_cast<const char*>(sqlite3_column_blob(read_facts_, 0)),
                      static_cast<std::size_t>(sqlite3_column_bytes(read_facts_, 0)));
    sqlite3_reset(read_facts_);
    facts += "resolved by ops, retried by hand, ticket 4711 is done now";
    Binder(resolve_)
        .number(number)
        .number(++number_)
        .number(static_cast<std::int64_t>(Status::resolved))
        .run();
    Binder(write_facts_).number(number).blob(facts).run();
    --tallies_[{row.record->message->source,
                {static_cast<int>(row.record->status), row.record->category}}];
    ++tallies_[{row.record->message->source,
                {static_cast<int>(Status::resolved), row.record->category}}];
    GroupMoves& group = groups_[row.group];
    group.newest = &row;
    --group.open;
  }
  write_books();
  run("COMMIT");
}

}  // namespace dlo::bench
