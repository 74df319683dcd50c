#include "dlo/store/sqlite/schema.h"

#include <array>
#include <sqlite3.h>
#include <string>

#include "dlo/store/sql/head.h"
#include "dlo/store/sqlite/facets.h"

namespace dlo::sqlite {
namespace {

// "dlo1" in the file header, so that `file` and we can tell an office from any other database.
constexpr std::int64_t application_id = 0x646C6F31;

// records   What a list shows and a claim needs; small rows, many to a page.
// class     0 live, 1 open, 2 closed. Most moves stay inside a class, and then only the status
//           index is touched; filters on source, group, ... still skip what they must not show.
// due_at    When `claim` may hand the record out; empty while it is leased or not claimable.
// tries     How many attempts were ever kept: the place of the next one in `attempts`.
// seat      Its row in error_text: the order in which the office learnt of its last death.
constexpr std::string_view first_tables = R"sql(
CREATE TABLE records(
  number INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  occurrence INTEGER NOT NULL,
  status INTEGER NOT NULL,
  class INTEGER NOT NULL,
  source TEXT NOT NULL,
  category TEXT NOT NULL,
  grp BLOB NOT NULL,
  event_type TEXT NOT NULL,
  key TEXT NOT NULL,
  message_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  error_type TEXT NOT NULL,
  died_at INTEGER NOT NULL,
  next_retry_at INTEGER,
  due_at INTEGER,
  lease BLOB,
  lease_until INTEGER,
  version INTEGER NOT NULL,
  change INTEGER NOT NULL,
  fetches INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  abandons INTEGER NOT NULL,
  retries INTEGER NOT NULL,
  replays INTEGER NOT NULL,
  total INTEGER NOT NULL,
  most INTEGER NOT NULL,
  payload_size INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  seat INTEGER NOT NULL,
  kind INTEGER,
  instance TEXT,
  error_text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_id ON records(id);
CREATE INDEX records_status ON records(status, died_at);
CREATE INDEX records_source ON records(source, class, died_at);
CREATE INDEX records_category ON records(category, class, died_at);
CREATE INDEX records_group ON records(grp, class, died_at);
CREATE INDEX records_event_type ON records(event_type, class, died_at);
CREATE INDEX records_key ON records(key, class, died_at) WHERE key <> '';
CREATE INDEX records_message_id ON records(message_id, class, died_at) WHERE message_id <> '';
CREATE INDEX records_instance ON records(instance, class, died_at) WHERE instance IS NOT NULL;
CREATE INDEX records_change ON records(change);
CREATE INDEX records_due ON records(due_at) WHERE due_at IS NOT NULL;
CREATE INDEX records_due_source ON records(source, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX records_lease ON records(lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX records_poison ON records(kind) WHERE kind IS NOT NULL AND class = 1;

-- Written once: the message as it died. Reopening replaces it.
CREATE TABLE bodies(
  number INTEGER PRIMARY KEY,
  enqueued_at INTEGER NOT NULL,
  execution_id INTEGER,
  activity_id INTEGER,
  activity_name TEXT,
  envelope BLOB NOT NULL,
  payload BLOB
) STRICT;

-- What transitions may change besides the head.
CREATE TABLE details(number INTEGER PRIMARY KEY, facts BLOB NOT NULL) STRICT;

CREATE TABLE attempts(
  number INTEGER NOT NULL, n INTEGER NOT NULL, attempt BLOB NOT NULL,
  PRIMARY KEY(number, n)) STRICT, WITHOUT ROWID;

CREATE TABLE versions(
  number INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL,
  author TEXT NOT NULL, why TEXT NOT NULL, headers BLOB NOT NULL, payload BLOB,
  PRIMARY KEY(number, n)) STRICT;

CREATE TABLE groups(
  fingerprint BLOB PRIMARY KEY, title TEXT NOT NULL, status INTEGER NOT NULL,
  owner TEXT NOT NULL, ticket TEXT NOT NULL, notes TEXT NOT NULL, snoozed_until INTEGER,
  open INTEGER NOT NULL, total INTEGER NOT NULL, first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL, sample BLOB NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX groups_last_seen ON groups(last_seen DESC, fingerprint);
CREATE INDEX groups_open ON groups(open DESC, last_seen DESC, fingerprint);

CREATE TABLE tallies(
  source TEXT NOT NULL, status INTEGER NOT NULL, category TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY(source, status, category)) STRICT, WITHOUT ROWID;

-- The numbers that must survive but change with every commit.
CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES('change', 0), ('number', 0), ('audit', 0),
  ('poison_orchestrations', 0), ('poison_activities', 0), ('identity', random());

CREATE TABLE documents(
  kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY(kind, key)) STRICT;

CREATE TABLE audit(
  number INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  subject TEXT NOT NULL, detail TEXT NOT NULL, hash TEXT NOT NULL) STRICT;

-- Words only, no phrases: half the size, and no second copy of the text.
CREATE VIRTUAL TABLE error_text USING fts5(
  words, content='', columnsize=0, detail=none, tokenize='ascii');

-- A record that died again has a new seat: newest deaths come first in a word search.
CREATE TABLE seats(seat INTEGER PRIMARY KEY, number INTEGER NOT NULL) STRICT;

-- For the payload index, which follows later: words that are no longer in the office, and those
-- that took their place. Numbers must never come back, hence AUTOINCREMENT.
CREATE TABLE leaving_payloads(
  n INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL, leaves BLOB, comes BLOB) STRICT;

-- S3-16, S3-17: what the durable runtime's poison tables would hold. Items being sent back (5) or
-- sent back (6) are in their queue again.
CREATE VIEW poison_orchestrator_queue AS
  SELECT r.number AS id, r.instance AS instance_id, b.payload AS work_item,
         r.abandons AS abandon_count, nullif(r.error_text, '') AS last_error,
         strftime('%Y-%m-%dT%H:%M:%fZ', r.died_at / 1000.0, 'unixepoch') AS poisoned_at,
         strftime('%Y-%m-%dT%H:%M:%fZ', b.enqueued_at / 1000.0, 'unixepoch')
           AS original_created_at
  FROM records r JOIN bodies b ON b.number = r.number
  WHERE r.kind = 0 AND r.class = 1 AND r.status NOT IN (5, 6);
CREATE VIEW poison_worker_queue AS
  SELECT r.number AS id, r.instance AS instance_id, b.execution_id AS execution_id,
         b.activity_id AS activity_id, b.activity_name AS activity_name, b.payload AS work_item,
         r.abandons AS abandon_count, nullif(r.error_text, '') AS last_error,
         strftime('%Y-%m-%dT%H:%M:%fZ', r.died_at / 1000.0, 'unixepoch') AS poisoned_at,
         strftime('%Y-%m-%dT%H:%M:%fZ', b.enqueued_at / 1000.0, 'unixepoch')
           AS original_created_at
  FROM records r JOIN bodies b ON b.number = r.number
  WHERE r.kind = 1 AND r.class = 1 AND r.status NOT IN (5, 6);
)sql";

// facets    See facets.h. `number` stands before them, so that rows still come in page order.
constexpr std::string_view facets = R"sql(
DROP INDEX records_status;
DROP INDEX records_source;
DROP INDEX records_category;
DROP INDEX records_group;
DROP INDEX records_event_type;
ALTER TABLE records ADD COLUMN facets INTEGER NOT NULL DEFAULT 0;
UPDATE records SET facets = facets(source, category, grp, event_type, error_type, reason);
CREATE INDEX records_status ON records(status, died_at, number, facets);
CREATE INDEX records_source ON records(source, class, died_at, number, facets);
CREATE INDEX records_category ON records(category, class, died_at, number, facets);
CREATE INDEX records_group ON records(grp, class, died_at, number, facets);
CREATE INDEX records_event_type ON records(event_type, class, died_at, number, facets);
)sql";

// What people say of a group, and what its marks are decided from. Deaths before this step are in
// no trend: they would have to be counted.
constexpr std::string_view issues = R"sql(
ALTER TABLE groups ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE groups ADD COLUMN resolved_at INTEGER;
ALTER TABLE groups ADD COLUMN regressed_at INTEGER;
ALTER TABLE groups ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
ALTER TABLE groups ADD COLUMN tags BLOB NOT NULL DEFAULT x'';
ALTER TABLE groups ADD COLUMN trend BLOB NOT NULL DEFAULT x'';
ALTER TABLE groups ADD COLUMN strands INTEGER NOT NULL DEFAULT 0;

-- The fingerprints of groups that people merged, each with its own numbers. A fingerprint that is
-- not here is a group by itself.
CREATE TABLE strands(
  fingerprint BLOB PRIMARY KEY, title TEXT NOT NULL, status INTEGER NOT NULL,
  owner TEXT NOT NULL, ticket TEXT NOT NULL, notes TEXT NOT NULL, snoozed_until INTEGER,
  open INTEGER NOT NULL, total INTEGER NOT NULL, first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL, sample BLOB NOT NULL, category TEXT NOT NULL,
  source TEXT NOT NULL, version INTEGER NOT NULL, resolved_at INTEGER, regressed_at INTEGER,
  repeats INTEGER NOT NULL, tags BLOB NOT NULL, trend BLOB NOT NULL, strands INTEGER NOT NULL,
  into_group BLOB NOT NULL, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX strands_into ON strands(into_group, fingerprint);
)sql";

// priority  0 low, 1 normal, 2 high: what is due stands in one line for each. Records that were
//           there before stand in the line of the normal ones.
constexpr std::string_view lines = R"sql(
ALTER TABLE records ADD COLUMN priority INTEGER NOT NULL DEFAULT 1;
DROP INDEX records_due;
DROP INDEX records_due_source;
CREATE INDEX records_due ON records(priority, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX records_due_source ON records(source, priority, due_at) WHERE due_at IS NOT NULL;
INSERT INTO counters VALUES('lifetime_enqueued', 0), ('lifetime_retry_success', 0),
  ('lifetime_retry_failed', 0), ('lifetime_exhausted', 0), ('lifetime_manually_retried', 0),
  ('lifetime_archived', 0);
)sql";

// policies  How many records of a status are retried by which kind of policy. The kind of each is
// in
//           its flags, so that a status move need not read the facts.
constexpr std::string_view policies = R"sql(
UPDATE records SET flags = flags | policy_flags(
  (SELECT facts FROM details WHERE details.number = records.number));
CREATE TABLE policies(
  status INTEGER NOT NULL, kind INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY(status, kind)) STRICT, WITHOUT ROWID;
INSERT INTO policies SELECT status, flags >> 5 & 15, count(*) FROM records GROUP BY 1, 2;
)sql";
static_assert(flag::policy == 15U << 5U);

/// `policy_flags(facts)` in SQL.
void define_policy_flags(Connection& db) {
  const auto answer = [](sqlite3_context* context, int, sqlite3_value** values) {
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(values[0]));
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values[0]));
    sqlite3_result_int64(context,
                         bytes == nullptr ? 0 : policy_flags_of(std::string_view(bytes, size)));
  };
  const int result =
      sqlite3_create_function_v2(db.raw(), "policy_flags", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                 nullptr, answer, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw Failed{explain(db.raw(), result, "defining policy_flags()")};
}

constexpr std::array<Migration, 5> migrations{{
    {1, "records, groups, ledger and error index", first_tables},
    {2, "facets in the indexes of common fields", facets, define_facets},
    {3, "groups as issues: versions, tags, trends, regressions", issues},
    {4, "lines of due records by priority, lifetime counters", lines},
    {5, "how many are retried by which kind of policy", policies, define_policy_flags},
}};

Error refused(std::string detail) {
  return Error{Code::refused, "sqlite.open", std::move(detail)};
}

}  // namespace

std::span<const Migration> office_migrations() noexcept {
  return migrations;
}

std::int64_t schema_version(Connection& db) {
  const std::int64_t id = db.number("PRAGMA application_id");
  const std::int64_t tables = db.number("SELECT count(*) FROM sqlite_schema");
  if (id == 0 && tables == 0) return 0;
  if (id != application_id) {
    throw Failed{Error{Code::refused, "sqlite.open",
                       "the file is a SQLite database but not an office of dead letters; nothing "
                       "was changed; choose another data directory"}};
  }
  return db.number("SELECT max(version) FROM schema_versions");
}

void migrate(Connection& db, std::span<const Migration> steps) {
  const std::int64_t have = schema_version(db);
  const std::int64_t want = steps.empty() ? 0 : steps.back().version;
  if (have > want) require_current(db, steps);
  for (const Migration& step : steps) {
    if (step.version <= have) continue;
    db.run("BEGIN IMMEDIATE");
    try {
      if (step.version == 1) {
        db.run("PRAGMA application_id = " + std::to_string(application_id) +
               "; CREATE TABLE schema_versions(version INTEGER PRIMARY KEY, what TEXT NOT NULL)"
               " STRICT");
      }
      if (step.define != nullptr) step.define(db);
      db.run(std::string(step.sql));
      Statement note(db.raw(), "INSERT INTO schema_versions VALUES(?, ?)");
      note.bind(step.version, step.what).run();
      db.run("COMMIT");
    } catch (const Failed&) {
      if (db.in_transaction()) db.run("ROLLBACK");
      throw;
    }
  }
}

void require_current(Connection& db, std::span<const Migration> steps) {
  const std::int64_t have = schema_version(db);
  const std::int64_t want = steps.empty() ? 0 : steps.back().version;
  if (have == want) return;
  if (have == 0) {
    throw Failed{
        refused("the office is an empty file: whoever made it did not get any further; "
                "open it once for writing, as `dlo serve` does, or remove the file")};
  }
  if (have > want) {
    throw Failed{refused("the office has schema version " + std::to_string(have) +
                         ", this program knows up to " + std::to_string(want) +
                         "; nothing was changed; run the newer program that wrote it")};
  }
  throw Failed{refused("the office has schema version " + std::to_string(have) +
                       ", this program needs " + std::to_string(want) +
                       "; opened read-only it is not migrated; open it once for writing")};
}

}  // namespace dlo::sqlite
