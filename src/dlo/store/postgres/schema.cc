#include "dlo/store/postgres/schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "dlo/core/states.h"
#include "dlo/store/sql/head.h"

namespace dlo::postgres {
namespace {

// The statements below say these as numbers.
static_assert(static_cast<int>(Status::resolved) == 8);

// Texts are bytea: whatever bytes a broker carried are kept, and compared as bytes. The views show
// them as text. Times are milliseconds since 1970.
//
// office    The numbers that move with every commit, in one row.
// writers   One row per program that writes; `mark` tells it after a lost connection whether its
//           last commit happened.
// records   What a list shows and a claim needs.
// class     0 live, 1 open, 2 closed.
// due_at    When `claim` may hand the record out; empty while it is leased or not claimable.
// tries     How many attempts were ever kept: the place of the next one in `attempts`.
// words     Hashes of the words of a text; whoever finds a row by them looks at the text itself.
//
// Long values do not fit into an index: it holds their first 128 bytes, and so do the queries.
constexpr std::string_view first_tables = R"sql(
CREATE TABLE office(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  change bigint NOT NULL DEFAULT 0,
  number bigint NOT NULL DEFAULT 0,
  audit bigint NOT NULL DEFAULT 0,
  audit_hash bytea NOT NULL DEFAULT '',
  poison_orchestrations bigint NOT NULL DEFAULT 0,
  poison_activities bigint NOT NULL DEFAULT 0,
  lifetime_enqueued bigint NOT NULL DEFAULT 0,
  lifetime_retry_success bigint NOT NULL DEFAULT 0,
  lifetime_retry_failed bigint NOT NULL DEFAULT 0,
  lifetime_exhausted bigint NOT NULL DEFAULT 0,
  lifetime_manually_retried bigint NOT NULL DEFAULT 0,
  lifetime_archived bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20);
INSERT INTO office DEFAULT VALUES;

CREATE TABLE writers(
  id bytea PRIMARY KEY, mark bigint NOT NULL, since timestamptz NOT NULL DEFAULT now(),
  address text NOT NULL DEFAULT coalesce(host(inet_client_addr()), 'local')
  ) WITH (fillfactor = 20);

CREATE TABLE records(
  number bigint PRIMARY KEY,
  id bytea NOT NULL,
  occurrence bigint NOT NULL,
  status smallint NOT NULL,
  class smallint NOT NULL,
  source bytea NOT NULL,
  category bytea NOT NULL,
  grp bytea NOT NULL,
  event_type bytea NOT NULL,
  key bytea NOT NULL,
  message_id bytea NOT NULL,
  reason bytea NOT NULL,
  error_type bytea NOT NULL,
  died_at bigint NOT NULL,
  next_retry_at bigint,
  due_at bigint,
  lease bytea,
  lease_until bigint,
  version bigint NOT NULL,
  change bigint NOT NULL,
  fetches bigint NOT NULL,
  attempts bigint NOT NULL,
  failures bigint NOT NULL,
  abandons bigint NOT NULL,
  retries bigint NOT NULL,
  replays bigint NOT NULL,
  total bigint NOT NULL,
  most bigint NOT NULL,
  payload_size bigint NOT NULL,
  flags bigint NOT NULL,
  tries bigint NOT NULL,
  kind smallint,
  instance bytea,
  error_text bytea NOT NULL,
  priority smallint NOT NULL) WITH (fillfactor = 90);
CREATE UNIQUE INDEX records_id ON records(id);
CREATE INDEX records_class ON records(class, died_at, number);
CREATE INDEX records_status ON records(status, died_at, number);
CREATE INDEX records_source ON records(substr(source, 1, 128), class, died_at, number);
CREATE INDEX records_group ON records(grp, class, died_at, number);
CREATE INDEX records_event_type ON records(substr(event_type, 1, 128), class, died_at, number);
CREATE INDEX records_key ON records(substr(key, 1, 128), class, died_at, number)
  WHERE key <> '';
CREATE INDEX records_message_id ON records(substr(message_id, 1, 128), class, died_at, number)
  WHERE message_id <> '';
CREATE INDEX records_instance ON records(substr(instance, 1, 128), class, died_at, number)
  WHERE instance IS NOT NULL;
CREATE INDEX records_change ON records(change);
CREATE INDEX records_due ON records(priority, due_at, number) WHERE due_at IS NOT NULL;
CREATE INDEX records_due_source ON records(substr(source, 1, 128), priority, due_at, number)
  WHERE due_at IS NOT NULL;
CREATE INDEX records_lease ON records(lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX records_poison ON records(kind, number) WHERE kind IS NOT NULL AND class = 1;

-- What transitions may change besides the head. The columns behind `words` are for the views.
CREATE TABLE details(
  number bigint PRIMARY KEY, facts bytea NOT NULL, words integer[] NOT NULL,
  by_retries bigint NOT NULL, first_attempt_at bigint, last_failed_at bigint, resolved_at bigint,
  resolved_by bytea, resolution_notes bytea, whole_text bytea);
CREATE INDEX details_words ON details USING gin(words);

-- Written once: the message as it died. Reopening replaces it.
CREATE TABLE bodies(
  number bigint PRIMARY KEY, enqueued_at bigint NOT NULL, envelope bytea NOT NULL, payload bytea,
  words integer[]);
CREATE INDEX bodies_words ON bodies USING gin(words) WHERE words IS NOT NULL;

CREATE TABLE attempts(
  number bigint NOT NULL, n bigint NOT NULL, attempt bytea NOT NULL, PRIMARY KEY(number, n));

CREATE TABLE versions(
  number bigint NOT NULL, n bigint NOT NULL, at bigint NOT NULL, author bytea NOT NULL,
  why bytea NOT NULL, headers bytea NOT NULL, payload bytea, PRIMARY KEY(number, n));

CREATE TABLE groups(
  fingerprint bytea PRIMARY KEY, title bytea NOT NULL, status smallint NOT NULL,
  owner bytea NOT NULL, ticket bytea NOT NULL, notes bytea NOT NULL, snoozed_until bigint,
  open bigint NOT NULL, total bigint NOT NULL, first_seen bigint NOT NULL,
  last_seen bigint NOT NULL, sample bytea NOT NULL, category bytea NOT NULL,
  source bytea NOT NULL, version bigint NOT NULL, resolved_at bigint, regressed_at bigint,
  repeats bigint NOT NULL, tags bytea NOT NULL, trend bytea NOT NULL, strands bigint NOT NULL)
  WITH (fillfactor = 70);
CREATE INDEX groups_last_seen ON groups(last_seen DESC, fingerprint);
CREATE INDEX groups_open ON groups(open DESC, last_seen DESC, fingerprint);

-- The fingerprints of groups that people merged, each with its own numbers.
CREATE TABLE strands(
  LIKE groups, into_group bytea NOT NULL, since bigint NOT NULL, PRIMARY KEY(fingerprint));
CREATE INDEX strands_into ON strands(into_group, fingerprint);

-- The key is the SHA-256 of the three, which may be too long for an index.
CREATE TABLE tallies(
  key bytea PRIMARY KEY, source bytea NOT NULL, status smallint NOT NULL,
  category bytea NOT NULL, count bigint NOT NULL) WITH (fillfactor = 70);

CREATE TABLE documents(
  kind bytea NOT NULL, key bytea NOT NULL, version bigint NOT NULL, body bytea NOT NULL,
  PRIMARY KEY(kind, key));

CREATE TABLE audit(
  number bigint PRIMARY KEY, at bigint NOT NULL, actor bytea NOT NULL, act bytea NOT NULL,
  subject bytea NOT NULL, detail bytea NOT NULL, hash bytea NOT NULL);
)sql";

// For people's own SQL (S1-12, S1-33…35). What is no UTF-8 is shown escaped, what is beyond the
// calendar as infinite: one odd record spoils nobody's query.
constexpr std::string_view views = R"sql(
CREATE FUNCTION as_text(bytes bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN others THEN
  RETURN encode(bytes, 'escape');
END $$;
CREATE FUNCTION as_time(millis bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT
PARALLEL SAFE
AS $$
SELECT CASE WHEN millis < -62135596800000 THEN '-infinity'::timestamptz
            WHEN millis > 253402300799999 THEN 'infinity'::timestamptz
            ELSE 'epoch'::timestamptz + millis * interval '1 millisecond' END $$;

CREATE VIEW dead_letter_messages AS
SELECT encode(r.id, 'hex')::uuid AS "Id",
       as_text(r.source) AS "SourceQueue",
       as_text(r.event_type) AS "EventType",
       as_text(b.payload) AS "Payload",
       as_text(CASE WHEN r.error_text = '' THEN r.reason
                    ELSE coalesce(d.whole_text, r.error_text) END) AS "ErrorMessage",
       (CASE d.by_retries WHEN 0 THEN r.failures ELSE r.retries END)::integer AS "AttemptCount",
       as_time(d.first_attempt_at) AS "FirstAttemptAt",
       as_time(coalesce(d.last_failed_at, r.died_at)) AS "FailedAt",
       r.status = 8 AS "Resolved",
       CASE r.status WHEN 8 THEN as_time(d.resolved_at) END AS "ResolvedAt",
       CASE r.status WHEN 8 THEN as_text(nullif(d.resolved_by, '')) END AS "ResolvedBy",
       CASE r.status WHEN 8 THEN as_text(nullif(d.resolution_notes, '')) END AS "ResolutionNotes"
FROM records r JOIN details d USING (number) JOIN bodies b USING (number)
WHERE r.class > 0;
CREATE VIEW "DeadLetterMessages" AS SELECT * FROM dead_letter_messages;
)sql";

// How many records of a status are retried by which kind of policy. The kind of each is in its
// flags, so that a status move need not read the facts.
constexpr std::string_view policies = R"sql(
CREATE TABLE policies(
  status smallint NOT NULL, kind smallint NOT NULL, count bigint NOT NULL,
  PRIMARY KEY(status, kind)) WITH (fillfactor = 50);
)sql";
static_assert(sql::flag::policy == 15U << 5U);

void mark_policies(Connection& connection, const Rows& rows) {
  std::map<std::uint32_t, std::vector<std::int64_t>> marks;
  for (const Row row : rows) {
    marks[sql::policy_flags_of(row.view(1))].push_back(row.number(0));
  }
  for (const auto& [flags, numbers] : marks) {
    (void)connection.ask("UPDATE records SET flags = flags | $1 WHERE number = ANY($2)",
                         Params(std::int64_t{flags}, numbers), Plan::once);
  }
}

void count_policies(Connection& connection) {
  for (std::int64_t after = 0;;) {
    const Rows rows = connection.ask(
        "SELECT number, facts FROM details WHERE number > $1 ORDER BY number LIMIT 1000",
        Params(after), Plan::once);
    if (rows.empty()) break;
    mark_policies(connection, rows);
    for (const Row row : rows) after = row.number(0);
  }
  connection.run(
      "INSERT INTO policies SELECT status, flags >> 5 & 15, count(*) FROM records GROUP BY 1, 2");
}

constexpr std::array<Migration, 3> migrations{{
    {1, "records, groups and ledger", first_tables},
    {2, "views for people's own SQL", views},
    {3, "how many are retried by which kind of policy", policies, count_policies},
}};

Failed refusal(std::string detail) {
  return {Error{Code::refused, "postgres.open", std::move(detail)}, Trouble::statement, ""};
}

/// 0: there is nothing yet.
std::int64_t version_of(Connection& connection, const std::string& schema) {
  const std::string table = "to_regclass('\"" + schema + "\".schema_versions')";
  const Rows found = connection.ask("SELECT " + table +
                                        " IS NULL, (SELECT count(*) FROM "
                                        "pg_class WHERE relnamespace = to_regnamespace('\"" +
                                        schema + "\"'))",
                                    Params(), Plan::once);
  if (found.front().number(0) == 0) {
    const Rows newest =
        connection.ask("SELECT max(version) FROM schema_versions", Params(), Plan::once);
    return newest.front().number(0);
  }
  if (found.front().number(1) == 0) return 0;
  throw refusal("schema \"" + schema + "\" at " + connection.place() +
                " holds tables, but not an office of dead letters; nothing was changed; choose "
                "another schema");
}

[[noreturn]] void refuse(Connection& connection, const std::string& schema, std::int64_t have,
                         std::int64_t want) {
  throw refusal("the office in schema \"" + schema + "\" at " + connection.place() +
                " has version " + std::to_string(have) + ", and this program knows " +
                std::to_string(want) +
                (have > want ? ": it was written by a newer one; nothing was changed; run that"
                             : ": let `dlo serve` open it once, which brings it up to date"));
}

void take_steps(Connection& connection, const std::string& schema,
                std::span<const Migration> steps) {
  const std::int64_t have = version_of(connection, schema);
  if (have == 0) {
    const Rows known = connection.ask("SELECT to_regnamespace('\"" + schema + "\"') IS NULL",
                                      Params(), Plan::once);
    if (known.front().number(0) != 0) connection.run("CREATE SCHEMA \"" + schema + "\"");
    connection.run(
        "CREATE TABLE schema_versions(version bigint PRIMARY KEY, what text NOT NULL, at "
        "timestamptz NOT NULL DEFAULT now())");
  }
  for (const Migration& step : steps) {
    if (step.version <= have) continue;
    connection.run(std::string(step.sql));
    if (step.fill != nullptr) step.fill(connection);
    (void)connection.ask(
        "INSERT INTO schema_versions(version, what) VALUES($1, convert_from($2, 'UTF8'))",
        Params(step.version, step.what), Plan::once);
  }
}

}  // namespace

std::span<const Migration> office_migrations() noexcept {
  return migrations;
}

Result<void> check_schema_name(const std::string& name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const bool good =
      !name.empty() && name.size() <= 63 && fits(name[0]) && !name.starts_with("pg_") &&
      std::ranges::all_of(name, [&](char c) { return fits(c) || (c >= '0' && c <= '9'); });
  if (good) return {};
  return Error{Code::invalid_argument, "postgres.open",
               "\"" + name +
                   "\" cannot be the schema of an office: give up to 63 lower-case letters, "
                   "digits and _, not beginning with a digit or pg_"};
}

std::string session_settings(const std::string& schema) {
  // Every query has its index; what the planner takes for an empty table may be full by the next
  // time a kept plan is used. Whoever stands still in a transaction loses it: others wait for it.
  return "SET search_path = \"" + schema +
         "\"; SET client_min_messages = warning; SET lock_timeout = '15s'; "
         "SET idle_in_transaction_session_timeout = '15s'; SET enable_seqscan = off; "
         "SET jit = off; SET bytea_output = hex; SET TIME ZONE 'UTC'";
}

void migrate(Connection& connection, const std::string& schema, std::span<const Migration> steps) {
  const std::int64_t want = steps.empty() ? 0 : steps.back().version;
  const std::int64_t have = version_of(connection, schema);
  if (have == want) return;
  if (have > want) refuse(connection, schema, have, want);
  connection.run("BEGIN");
  connection.run("SELECT pg_advisory_xact_lock(hashtextextended('dlo migrates " + schema +
                 "', 0))");
  take_steps(connection, schema, steps);
  connection.run("COMMIT");
}

void require_current(Connection& connection, const std::string& schema,
                     std::span<const Migration> steps) {
  const std::int64_t want = steps.empty() ? 0 : steps.back().version;
  const std::int64_t have = version_of(connection, schema);
  if (have == 0) {
    throw Failed{Error{Code::not_found, "postgres.open",
                       "there is no office in schema \"" + schema + "\" at " + connection.place() +
                           "; check the address, or let `dlo serve` create one"},
                 Trouble::statement, ""};
  }
  if (have != want) refuse(connection, schema, have, want);
}

}  // namespace dlo::postgres
