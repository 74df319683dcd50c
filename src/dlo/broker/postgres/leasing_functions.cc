#include "dlo/broker/postgres/schema.h"

namespace dlo::postgres {
namespace {

// Locks are taken in one order, keys before rows: then no two wait for each other.
// A row that was locked stays where it is: the next statement moves it by its spot (ctid), whatever
// the planner believes of the table. Functions are PL/pgSQL, which keeps plans; SQL plans at every
// call.
//
// advance   Ends the delays and leases that are over. Who has expired waits no longer. What had
//           started comes back as interrupted, ahead of all others; a claim that had not is given
//           back, unless claims count.
// promote   The first of a key, if it is held and its key is not, is in play from now on.
// drop_expired   What is to be dropped for its age goes, and whoever stood behind it and is as old.
// receive   Leases what is next. The lease of the nth is `the_lease` + n.
constexpr std::string_view sql = R"sql(
CREATE OR REPLACE FUNCTION lock_keys(the_locks bigint, the_keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(the_locks + s.bucket)
  FROM (SELECT DISTINCT k & 63 AS bucket FROM unnest(the_keys) k WHERE k <> 0 ORDER BY 1) s;
END $$;

CREATE OR REPLACE FUNCTION lock_all_keys(the_locks bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(the_locks + n) FROM generate_series(0, 63) n;
END $$;

CREATE OR REPLACE FUNCTION advance(the_queue integer, the_now bigint, the_wall bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  q queues%ROWTYPE;
  delays bigint;
  leases bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM messages m
                 WHERE m.queue = the_queue AND m.state IN (1, 2) AND m.due <= the_now)
     AND NOT EXISTS (SELECT FROM messages m
                     WHERE m.queue = the_queue AND m.expires <= the_wall
                       AND m.expires IS NOT NULL AND m.state = 1) THEN
    RETURN;
  END IF;
  SELECT * INTO STRICT q FROM queues WHERE number = the_queue;
  WITH timely AS (
    SELECT m.place, m.state, m.due AS at FROM messages m
    WHERE m.queue = the_queue AND m.state IN (1, 2) AND m.due <= the_now
    ORDER BY m.due LIMIT 20000 FOR UPDATE SKIP LOCKED),
  expired AS (
    SELECT m.place, m.state, least(m.due, m.expires - the_wall + the_now) AS at FROM messages m
    WHERE m.queue = the_queue AND m.expires <= the_wall AND m.expires IS NOT NULL
      AND m.state = 1
    ORDER BY m.expires LIMIT 20000 FOR UPDATE SKIP LOCKED),
  over AS (
    SELECT place, state, min(at) AS at
    FROM (SELECT * FROM timely UNION ALL SELECT * FROM expired) e GROUP BY place, state),
  turns AS MATERIALIZED (
    SELECT s.*, nextval('places') AS turn FROM (SELECT * FROM over ORDER BY at, place) s),
  moved AS (
    UPDATE messages m SET
      state = 0, turn = o.turn, lease = 0, holder = 0,
      rank = CASE WHEN o.state = 2 AND m.flags & 1 = 1 THEN o.at - (1::bigint << 61)
                  ELSE o.at - q.ageing * m.priority END,
      flags = CASE WHEN o.state = 1 THEN m.flags
                   WHEN m.flags & 1 = 1 THEN 12
                   ELSE m.flags & 4 | 8 END,
      interruptions = m.interruptions
                      + CASE WHEN o.state = 2 AND m.flags & 1 = 1 THEN 1 ELSE 0 END,
      fetches = CASE WHEN o.state = 2 AND m.flags & 1 = 0 AND NOT q.claims_count
                     THEN greatest(m.fetches - 1, 0) ELSE m.fetches END
    FROM turns o WHERE m.queue = the_queue AND m.place = o.place
    RETURNING o.state AS was)
  SELECT count(*) FILTER (WHERE was = 1), count(*) FILTER (WHERE was = 2) INTO delays, leases
  FROM moved;
  UPDATE tallies SET delayed = delayed - delays, leased = leased - leases
  WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
END $$;

CREATE OR REPLACE FUNCTION promote(the_queue integer, the_now bigint, the_wall bigint, the_keys bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  late bigint;
  moved bigint;
BEGIN
  WITH risen AS (
    UPDATE messages m SET
      state = CASE WHEN m.due <= the_now OR coalesce(m.expires <= the_wall, false) THEN 0 ELSE 1 END,
      rank = the_now - (SELECT ageing FROM queues WHERE number = the_queue) * m.priority,
      turn = nextval('places')
    FROM (SELECT first.place
          FROM (SELECT DISTINCT k FROM unnest(the_keys) k WHERE k <> 0) keys,
               LATERAL (SELECT f.place, f.state FROM messages f
                        WHERE f.queue = the_queue AND f.key = keys.k AND f.key <> 0
                        ORDER BY f.place LIMIT 1) first
          WHERE first.state = 3 AND NOT EXISTS (
            SELECT FROM holds h WHERE h.queue = the_queue AND h.key = keys.k)) next
    WHERE m.queue = the_queue AND m.place = next.place
    RETURNING m.state)
  SELECT count(*) FILTER (WHERE state = 1), count(*) INTO late, moved FROM risen;
  IF moved = 0 THEN RETURN; END IF;
  UPDATE tallies SET held = held - moved, delayed = delayed + late
  WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
END $$;

CREATE OR REPLACE FUNCTION drop_expired(the_queue integer, the_now bigint, the_wall bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  old bigint[];
  keys bigint[];
  gone bigint;
  gone_bytes bigint;
  dropped bigint := 0;
BEGIN
  PERFORM advance(the_queue, the_now, the_wall);
  LOOP
    SELECT array_agg(m.place), array_agg(m.key) INTO old, keys FROM messages m
    WHERE m.queue = the_queue AND m.expires <= the_wall AND m.expires IS NOT NULL
      AND m.state = 0;
    IF old IS NULL THEN RETURN dropped; END IF;
    PERFORM lock_keys((SELECT locks FROM queues WHERE number = the_queue), keys);
    WITH deleted AS (
      DELETE FROM messages m USING unnest(old) o(place)
      WHERE m.queue = the_queue AND m.place = o.place AND m.state = 0
      RETURNING m.bytes)
    SELECT count(*), coalesce(sum(bytes), 0) INTO gone, gone_bytes FROM deleted;
    UPDATE tallies SET expired = expired + gone, bytes = bytes - gone_bytes
    WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
    PERFORM promote(the_queue, the_now, the_wall, keys);
    dropped := dropped + gone;
    IF gone = 0 THEN RETURN dropped; END IF;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION receive(
  the_queue integer, the_now bigint, the_wall bigint, the_limit bigint, the_bytes bigint,
  the_until bigint, the_holder bigint, the_lease bigint, expired_only boolean)
RETURNS TABLE(
  place bigint, lease bigint, key bigint, priority smallint, flags smallint, interruptions integer,
  expires bigint, first_attempt_at bigint, previous_delay bigint, fetches bigint, attempts bigint,
  failures bigint, abandons bigint, retries bigint, replays bigint, total bigint, error bytea,
  trail bytea, envelope bytea, payload bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  q queues%ROWTYPE;
  spots tid[];
  taken bigint;
BEGIN
  SELECT * INTO STRICT q FROM queues WHERE number = the_queue;
  IF q.drop_expired AND (expired_only OR NOT q.paused) THEN
    PERFORM drop_expired(the_queue, the_now, the_wall);
  ELSE
    PERFORM advance(the_queue, the_now, the_wall);
  END IF;
  IF expired_only THEN
    spots := ARRAY(
      SELECT m.ctid FROM messages m
      WHERE m.queue = the_queue AND m.expires <= the_wall AND m.expires IS NOT NULL
        AND m.state = 0
      ORDER BY m.expires, m.place LIMIT the_limit FOR UPDATE SKIP LOCKED);
  ELSIF NOT q.paused THEN
    SELECT array_agg(c.spot) INTO spots
    FROM (SELECT p.spot, row_number() OVER rows_so_far AS nth,
                 sum(p.bytes) OVER rows_so_far - p.bytes AS before
          FROM (SELECT m.ctid AS spot, greatest(m.bytes, 1)::double precision AS bytes
                FROM messages m WHERE m.queue = the_queue AND m.state = 0
                ORDER BY m.rank, m.turn LIMIT the_limit FOR UPDATE SKIP LOCKED) p
          WINDOW rows_so_far AS (ROWS UNBOUNDED PRECEDING)) c
    WHERE c.nth = 1 OR c.before < the_bytes;
  END IF;
  RETURN QUERY
  UPDATE messages m SET
    state = 2, due = the_until, lease = the_lease + c.nth, holder = the_holder,
    fetches = least(m.fetches + 1, 4294967295)
  FROM unnest(spots) WITH ORDINALITY AS c(spot, nth) WHERE m.ctid = c.spot
  RETURNING m.place, m.lease, m.key, m.priority, m.flags, m.interruptions, m.expires,
    m.first_attempt_at, m.previous_delay, m.fetches, m.attempts, m.failures, m.abandons,
    m.retries, m.replays, m.total, m.error, m.trail, m.envelope, m.payload;
  GET DIAGNOSTICS taken = ROW_COUNT;
  IF taken > 0 THEN
    UPDATE tallies SET leased = leased + taken
    WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
  END IF;
END $$;

-- When somebody who waits should look again, if nothing comes.
CREATE OR REPLACE FUNCTION next_due(the_queue integer, the_now bigint, the_wall bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN least(
    (SELECT m.due FROM messages m WHERE m.queue = the_queue AND m.state IN (1, 2)
     ORDER BY m.due LIMIT 1),
    (SELECT m.expires - the_wall + the_now FROM messages m
     WHERE m.queue = the_queue AND m.expires > the_wall AND m.expires IS NOT NULL AND m.state = 1
     ORDER BY m.expires LIMIT 1));
END $$;
)sql";

}  // namespace

std::string_view leasing_functions() noexcept {
  return sql;
}

}  // namespace dlo::postgres
