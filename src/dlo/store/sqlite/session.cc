#include "dlo/store/sqlite/session.h"

#include <algorithm>
#include <utility>

#include "dlo/store/sql/codec.h"
#include "dlo/store/sqlite/due_lines.h"

namespace dlo::sqlite {
namespace {

std::string select_head(const char* rest) {
  return std::string("SELECT ") + head_columns + " FROM records " + rest;
}

// Columns that move with every change of a record. Only the due, lease and change indexes follow.
constexpr const char* touched =
    "next_retry_at = ?2, due_at = ?3, lease = ?4, lease_until = ?5, version = ?6, change = ?7, "
    "fetches = ?8, attempts = ?9, failures = ?10, abandons = ?11, retries = ?12, replays = ?13, "
    "total = ?14, most = ?15, flags = ?16, tries = ?17";

std::string update_head(const char* more) {
  return std::string("UPDATE records SET ") + touched + more + " WHERE number = ?1";
}

constexpr const char* rewritten =
    ", status = ?18, class = ?19, occurrence = ?20, source = ?21, category = ?22, grp = ?23, "
    "event_type = ?24, key = ?25, message_id = ?26, reason = ?27, error_type = ?28, "
    "died_at = ?29, payload_size = ?30, seat = ?31, kind = ?32, instance = ?33, error_text = ?34, "
    "facets = ?35, priority = ?36";

std::int64_t bounded(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, 1U << 20U));
}

}  // namespace

Session::Session(std::unique_ptr<Connection> db,
                 std::function<bool(const std::string&)> searches_payload, Damage& damage)
    : db_(std::move(db)),
      damage_(damage),
      log_(*db_, damage),
      searches_payload_(std::move(searches_payload)),
      books_(*db_),
      find_id_(db_->raw(), select_head("WHERE id = ?")),
      find_number_(db_->raw(), select_head("WHERE number = ?")),
      read_facts_(db_->raw(), "SELECT facts FROM details WHERE number = ?"),
      read_body_(db_->raw(), "SELECT envelope, payload FROM bodies WHERE number = ?"),
      read_versions_(db_->raw(), std::string("SELECT ") + version_columns +
                                     " FROM versions WHERE number = ? ORDER BY n"),
      insert_head_(
          db_->raw(),
          "INSERT INTO records(number, next_retry_at, due_at, lease, lease_until, "
          "version, change, fetches, attempts, failures, abandons, retries, replays, "
          "total, most, flags, tries, status, class, occurrence, source, category, grp, "
          "event_type, key, message_id, reason, error_type, died_at, payload_size, seat, "
          "kind, instance, error_text, id, facets, priority) VALUES(?1, ?2, ?3, NULL, NULL, 1, ?4, "
          "?5, ?6, "
          "?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, "
          "?23, ?24, ?25, ?26, ?27, ?1, ?28, ?29, ?30, ?31, ?32, ?33) ON CONFLICT(id) DO NOTHING"),
      insert_body_(db_->raw(), "INSERT OR REPLACE INTO bodies VALUES(?, ?, ?, ?, ?, ?, ?)"),
      insert_facts_(db_->raw(), "INSERT INTO details VALUES(?, ?)"),
      insert_attempt_(db_->raw(), "INSERT INTO attempts VALUES(?, ?, ?)"),
      insert_version_(db_->raw(), std::string("INSERT INTO versions(number, ") + version_columns +
                                      ") VALUES(?, ?, ?, ?, ?, ?, ?)"),
      touch_(db_->raw(), update_head("")),
      move_status_(db_->raw(), update_head(", status = ?18")),
      move_class_(db_->raw(), update_head(", status = ?18, class = ?19")),
      rewrite_(db_->raw(), update_head(rewritten)),
      write_lease_(db_->raw(),
                   "UPDATE records SET due_at = ?2, lease = ?3, lease_until = ?4 WHERE number = "
                   "?1"),
      write_facts_(db_->raw(), "UPDATE details SET facts = ?2 WHERE number = ?1"),
      settle_source_(db_->raw(),
                     "UPDATE records SET flags = flags & ~?3 WHERE id = ?1 AND "
                     "occurrence = ?2 AND flags & ?3"),
      delete_head_(db_->raw(), "DELETE FROM records WHERE number = ?"),
      delete_body_(db_->raw(), "DELETE FROM bodies WHERE number = ?"),
      delete_facts_(db_->raw(), "DELETE FROM details WHERE number = ?"),
      delete_attempts_(db_->raw(), "DELETE FROM attempts WHERE number = ?"),
      delete_attempt_(db_->raw(), "DELETE FROM attempts WHERE number = ? AND n = ?"),
      delete_versions_(db_->raw(), "DELETE FROM versions WHERE number = ?"),
      add_seat_(db_->raw(), "INSERT INTO seats VALUES(?, ?)"),
      delete_seat_(db_->raw(), "DELETE FROM seats WHERE seat = ?"),
      note_leaving_(db_->raw(),
                    "INSERT INTO leaving_payloads(number, leaves, comes) SELECT ?1, CASE WHEN ?2 "
                    "THEN substr(payload, 1, ?4) END, ?3 FROM bodies WHERE number = ?1"),
      forget_leaving_(db_->raw(), "DELETE FROM leaving_payloads WHERE n <= ?"),
      read_document_(db_->raw(), "SELECT version FROM documents WHERE kind = ? AND key = ?"),
      write_document_(db_->raw(),
                      "INSERT INTO documents VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                      "version = excluded.version, body = excluded.body"),
      delete_document_(db_->raw(), "DELETE FROM documents WHERE kind = ? AND key = ?"),
      insert_audit_(db_->raw(), "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?, ?)"),
      ended_(db_->raw(), select_head("INDEXED BY records_lease WHERE lease_until <= ? "
                                     "ORDER BY lease_until LIMIT ?")),
      due_(db_->raw(), select_head("INDEXED BY records_due WHERE priority = ?1 AND due_at <= ?2 "
                                   "ORDER BY due_at, number LIMIT ?3")),
      due_source_(db_->raw(),
                  select_head("INDEXED BY records_due_source WHERE priority = ?1 AND due_at <= ?2 "
                              "AND source = ?4 ORDER BY due_at, number LIMIT ?3")),
      next_source_(db_->raw(), std::string(due_source_after)) {}

Session::~Session() {
  db_->leave_log(damage_.found());
}

void Session::begin() {
  damage_.refuse();
  wrote_ = false;
  damage_.noting([this] {
    if (db_->in_transaction()) db_->run("ROLLBACK");
    log_.make_way();
    if (stale_) books_.reload();
    stale_ = false;
    db_->run("BEGIN IMMEDIATE");
  });
}
void Session::commit() {
  damage_.noting([this] {
    books_.write();
    damage_.refuse();  // somebody who reads may have found it meanwhile
    db_->run("COMMIT");
  });
  log_.after_commit();
}
void Session::roll_back() noexcept {
  stale_ = true;
  try {
    if (db_->in_transaction()) db_->run("ROLLBACK");
    if (damage_.found()) return;
    damage_.noting([this] { books_.reload(); });
    stale_ = false;
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next begin says so to whoever asks
  }
}
void Session::set_savepoint() {
  saved_ = books_.save();
  db_->run("SAVEPOINT list");
}
void Session::drop_savepoint() {
  db_->run("RELEASE list");
}
void Session::back_to_savepoint() {
  db_->run("ROLLBACK TO list; RELEASE list");
  books_.restore(std::move(saved_));
}

void Session::run(Statement& statement) {
  wrote_ = true;
  statement.run();
}

std::optional<Head> Session::find(const RecordId& id) {
  find_id_.bind(id);
  Rows rows(find_id_);
  if (!rows.next()) return std::nullopt;
  return read_head(find_id_);
}
std::optional<Head> Session::find(std::int64_t number) {
  find_number_.bind(number);
  Rows rows(find_number_);
  if (!rows.next()) return std::nullopt;
  return read_head(find_number_);
}

void Session::load_facts(Head& head) {
  read_facts_.bind(head.record.number);
  Rows rows(read_facts_);
  if (rows.next()) decode_facts(read_facts_.view(0), head.record);
}
void Session::load_message(Head& head) {
  read_body_.bind(head.record.number);
  Rows rows(read_body_);
  if (rows.next()) read_body(read_body_, 0, 1, *head.message);
}
std::vector<Version> Session::versions(std::int64_t number) {
  std::vector<Version> found;
  read_versions_.bind(number);
  for (Rows rows(read_versions_); rows.next();) found.push_back(read_version(read_versions_));
  return found;
}

std::optional<std::uint64_t> Session::document_version(const std::string& kind,
                                                       const std::string& key) {
  read_document_.bind(kind, key);
  Rows rows(read_document_);
  if (!rows.next()) return std::nullopt;
  return read_document_.as<std::uint64_t>(0);
}

std::uint64_t Session::put_document(const std::string& kind, const std::string& key,
                                    const std::optional<std::string>& body) {
  if (!body) {
    run(delete_document_.bind(kind, key));
    return 0;
  }
  const std::uint64_t version = books_.next_change();
  write_document_.bind(kind, key, version, *body);
  run(write_document_);
  return version;
}

std::uint64_t Session::add_audit(const AddAudit& act) {
  const auto [number, hash] = books_.chain(act);
  insert_audit_.bind(number, act.at, act.actor, act.act, act.subject, act.detail, hash);
  run(insert_audit_);
  return number;
}

std::vector<Head> Session::ended_leases(TimePoint now, std::size_t limit) {
  std::vector<Head> heads;
  ended_.bind(now, limit);
  for (Rows rows(ended_); rows.next();) heads.push_back(read_head(ended_));
  return heads;
}

void Session::due_in(Statement& lines, TimePoint now, std::size_t limit,
                     std::vector<DueHead>& out) {
  for (std::size_t each = 0; each < priorities; ++each) {
    const auto priority = static_cast<Priority>(each);
    lines.bind_from(1, priority, now, bounded(limit));
    for (Rows rows(lines); rows.next();) {
      Head head = read_head(lines);
      const TimePoint turn = turn_of(*head.record.next_retry_at, priority);
      out.push_back({turn, std::move(head)});
    }
  }
}

std::vector<Head> Session::due(TimePoint now, const ClaimFrom& from, std::size_t limit) {
  std::vector<DueHead> found;
  const auto of_source = [&](const std::string& source) {
    due_source_.bind_at(4, source);
    due_in(due_source_, now, limit, found);
  };
  if (!from.source.empty()) {
    of_source(from.source);
  } else if (from.without.empty()) {
    due_in(due_, now, limit, found);
  } else {
    // From source to source: however much is due of those that others hand out, it is passed over
    // in one step.
    each_due_source(next_source_, [&](const std::string& source) {
      if (takes(from, source)) of_source(source);
    });
  }
  std::ranges::sort(found, {},
                    [](const DueHead& due) { return std::pair(due.turn, due.head.record.number); });
  std::vector<Head> heads;
  for (DueHead& due : found) {
    if (heads.size() == limit) break;
    heads.push_back(std::move(due.head));
  }
  return heads;
}

}  // namespace dlo::sqlite
