#include <array>
#include <map>
#include <vector>

#include "dlo/core/states.h"
#include "dlo/store/postgres/schema.h"
#include "dlo/store/postgres/shelves.h"
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
constexpr std::string_view readable = R"sql(
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
)sql";

constexpr std::string_view views = R"sql(
CREATE OR REPLACE VIEW dead_letter_messages AS
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
CREATE OR REPLACE VIEW "DeadLetterMessages" AS SELECT * FROM dead_letter_messages;
)sql";

/// Also after a step that put another table in the place of one: whatever people built upon the
/// views stays.
void make_views(Connection& connection) {
  connection.run(std::string(views));
}

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

// Bodies and attempts lie on shelves: partitions by number, that is by arrival (docs/adr/0023).
//
// shelves    Numbers from `first` to before `next`. `filled`: the last one that was given, once the
//            office writes to a later shelf. `gone`: so many of its records were removed since it
//            was last cleared of what they left; `gone_since`: the first of them.
// *_rest     What finds no shelf.
// payload_words     Words of payloads, which a thread adds behind the writer's back.
// payload_progress  Records up to this number have been looked at for their words ...
// moved_payloads    ... but the payloads of these were replaced since.
constexpr std::string_view shelves = R"sql(
CREATE TABLE shelves(
  first bigint PRIMARY KEY, next bigint NOT NULL, opened_at timestamptz, filled bigint,
  gone bigint NOT NULL DEFAULT 0, gone_since timestamptz) WITH (fillfactor = 50);

ALTER TABLE bodies RENAME TO bodies_1;
ALTER INDEX bodies_pkey RENAME TO bodies_1_pkey;
ALTER TABLE bodies_1 DROP COLUMN words;
ALTER TABLE attempts RENAME TO attempts_1;
ALTER INDEX attempts_pkey RENAME TO attempts_1_pkey;
CREATE TABLE bodies(LIKE bodies_1, PRIMARY KEY(number)) PARTITION BY RANGE (number);
CREATE TABLE bodies_rest PARTITION OF bodies DEFAULT;
CREATE TABLE attempts(LIKE attempts_1, PRIMARY KEY(number, n)) PARTITION BY RANGE (number);
CREATE TABLE attempts_rest PARTITION OF attempts DEFAULT;
CREATE TABLE payload_words(number bigint PRIMARY KEY, words integer[] NOT NULL)
  PARTITION BY RANGE (number);
CREATE INDEX payload_words_words ON payload_words USING gin(words);
CREATE TABLE payload_words_rest PARTITION OF payload_words DEFAULT;
CREATE TABLE payload_words_1(LIKE payload_words INCLUDING ALL);

CREATE TABLE payload_progress(
  one boolean PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL)
  WITH (fillfactor = 20);
INSERT INTO payload_progress(number) VALUES(0);
CREATE TABLE moved_payloads(
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint NOT NULL);
)sql";

/// What there is becomes the first shelf, as it is: nothing is copied.
void put_up_shelves(Connection& connection) {
  attach_first_shelf(connection, ShelfRules{});
  make_views(connection);
}

constexpr std::array<Migration, 4> migrations{{
    {1, "records, groups and ledger", first_tables},
    {2, "views for people's own SQL", readable, make_views},
    {3, "how many are retried by which kind of policy", policies, count_policies},
    {4, "bodies and attempts on shelves, words of payloads apart", shelves, put_up_shelves},
}};

}  // namespace

std::span<const Migration> office_migrations() noexcept {
  return migrations;
}

}  // namespace dlo::postgres
