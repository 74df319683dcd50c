#include "dlo/broker/postgres/schema.h"

#include <array>
#include <string>

namespace dlo::postgres {
namespace {

// queues    One row per queue: its settings, whether it is paused, and the first of the numbers
//           that its advisory locks have.
// messages  One row per message that is here.
//   state     0 ready, 1 delayed, 2 leased, 3 held behind the head of its key or behind a held key.
//   place     Rises in the order of publication; within a key it is the order.
//   rank      Of those that are ready: the lowest is next; `turn` decides between equals.
//   due       When the delay ends, or the lease.
//   lease     The half of the token that fences; `holder` is the program that has it.
//   flags     1 started, 2 by its first start, 4 interrupted, 8 may be a repeat.
//   key       A hash; 0: none. Messages whose keys share one wait for each other.
//   expires   A moment of the wall clock. All other moments are of the queues' even clock.
// tallies   What came and went, and how many are where. A connection adds to the row of its slot,
//           so that no row is everybody's; readers add the slots up.
// holds     Keys whose head died and holds its followers.
// dedupe    Which ids were taken lately, by 16 bytes of their SHA-256. Those of replays have 17 and
//           are kept a week longer: whoever was killed in one may come back after the window.
// holders   Programs that have leases. Each keeps an advisory lock of its number while it lives.
//
// Settled rows are deleted at once, a batch at a time: vacuum comes often and finds little.
constexpr std::string_view tables = R"sql(
CREATE SEQUENCE places;
CREATE TABLE incarnation(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  name bytea NOT NULL DEFAULT substr(sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 1, 6));
INSERT INTO incarnation DEFAULT VALUES;

CREATE TABLE queues(
  number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE,
  locks bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0) & ~127::bigint,
  paused boolean NOT NULL DEFAULT false,
  ageing bigint NOT NULL,
  keys_in_order boolean NOT NULL,
  claims_count boolean NOT NULL,
  drop_expired boolean NOT NULL,
  max_messages bigint,
  max_bytes bigint,
  dedupe_window bigint NOT NULL,
  ttl bigint) WITH (fillfactor = 50);

CREATE TABLE messages(
  queue integer NOT NULL,
  place bigint NOT NULL,
  state smallint NOT NULL,
  priority smallint NOT NULL,
  flags smallint NOT NULL DEFAULT 0,
  interruptions integer NOT NULL DEFAULT 0,
  rank bigint NOT NULL,
  turn bigint NOT NULL,
  due bigint NOT NULL,
  lease bigint NOT NULL DEFAULT 0,
  holder bigint NOT NULL DEFAULT 0,
  key bigint NOT NULL,
  bytes bigint NOT NULL,
  expires bigint,
  first_attempt_at bigint,
  previous_delay bigint NOT NULL DEFAULT 0,
  fetches bigint NOT NULL,
  attempts bigint NOT NULL,
  failures bigint NOT NULL,
  abandons bigint NOT NULL,
  retries bigint NOT NULL,
  replays bigint NOT NULL,
  total bigint NOT NULL,
  error bytea NOT NULL DEFAULT '',
  trail bytea NOT NULL DEFAULT '',
  envelope bytea NOT NULL,
  payload bytea NOT NULL,
  PRIMARY KEY(queue, place))
  WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_analyze_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX messages_ready ON messages(queue, rank, turn) WHERE state = 0;
CREATE INDEX messages_due ON messages(queue, due) WHERE state IN (1, 2);
CREATE INDEX messages_key ON messages(queue, key, place) WHERE key <> 0;
CREATE INDEX messages_expire ON messages(queue, expires, place)
  WHERE expires IS NOT NULL AND state < 2;

CREATE TABLE tallies(
  queue integer NOT NULL,
  slot integer NOT NULL,
  published bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0,
  expired bigint NOT NULL DEFAULT 0,
  purged bigint NOT NULL DEFAULT 0,
  delayed bigint NOT NULL DEFAULT 0,
  leased bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  PRIMARY KEY(queue, slot))
  WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE holds(queue integer NOT NULL, key bigint NOT NULL, PRIMARY KEY(queue, key));

CREATE TABLE dedupe(
  queue integer NOT NULL, id bytea NOT NULL, at bigint NOT NULL, place bigint NOT NULL,
  PRIMARY KEY(queue, id));
CREATE INDEX dedupe_at ON dedupe(queue, at);

CREATE TABLE holders(
  number bigint PRIMARY KEY, since timestamptz NOT NULL DEFAULT now(),
  address text NOT NULL DEFAULT coalesce(host(inet_client_addr()), 'local'));
)sql";

/// All of them, in place of whatever was there: a step that changes one takes the place of the
/// last.
const std::string& functions() {
  static const std::string sql = std::string(leasing_functions()) +
                                 std::string(arriving_functions()) +
                                 std::string(ending_functions()) + std::string(keeping_functions());
  return sql;
}

}  // namespace

Holding queue_holding(const std::string& schema) {
  static const std::array<Step, 2> steps{
      {{1, "queues", tables}, {3, "ids of replays are kept for longer", functions()}}};
  return {schema, "queues", steps};
}

std::string queue_settings(const std::string& schema, bool synced) {
  // Every statement has its index and the order it wants: plans that are kept must not depend on
  // how full a table was when they were made.
  return "SET search_path = \"" + schema +
         "\"; SET client_min_messages = warning; SET lock_timeout = '15s'; "
         "SET idle_in_transaction_session_timeout = '15s'; SET jit = off; "
         "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; "
         "SET enable_mergejoin = off; SET enable_sort = off; SET plan_cache_mode = "
         "force_generic_plan; SET synchronous_commit = " +
         std::string(synced ? "on" : "off");
}

}  // namespace dlo::postgres
