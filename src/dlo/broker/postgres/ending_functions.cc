#include "dlo/broker/postgres/schema.h"

namespace dlo::postgres {
namespace {

// A token is the place of a message and the number of its lease: whoever names a lease that is over
// changes nothing. All of them answer the leases that lived.
//
// lock_leased   Where they are, by number. Each is looked up by its place: a kept plan may have
// been
//           made when the table was empty, and would go through all that is leased instead;
//           `state + 0` keeps the index of what is due out of it. What is locked stays at its spot
//           (ctid), by which the next statement moves it. The next, not the same: it has to see
//           what a neighbour wrote while the lock was waited for.
// finish    They leave. `the_fates`: 0 completed, 1 dead, 2 dead and holding its key. `keyed`: one
//           of them may have a key.
// retry     They come back. `the_hows`: 1 failed; 2 abandoned and counted, 3 with the counts that
//           were decided; 4 abandoned and not counted; 5 released. Counts are seven in a row for
//           each, or none at all if nobody has any. A claim that is given back takes its start
//           along (R1).
constexpr std::string_view sql = R"sql(
CREATE OR REPLACE FUNCTION lock_leased(
  the_queue integer, the_now bigint, the_places bigint[], the_leases bigint[])
RETURNS TABLE(spot tid, nth bigint, key bigint, bytes bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT l.spot, t.nth, l.key, l.bytes
  FROM unnest(the_places, the_leases) WITH ORDINALITY AS t(place, lease, nth), LATERAL (
    SELECT m.ctid AS spot, m.key, m.bytes FROM messages m
    WHERE m.queue = the_queue AND m.place = t.place AND m.lease = t.lease
      AND m.state + 0 = 2 AND m.due > the_now FOR UPDATE) l;
END $$;

CREATE OR REPLACE FUNCTION finish(
  the_queue integer, the_now bigint, the_wall bigint, the_places bigint[], the_leases bigint[],
  the_fates integer[], keyed boolean)
RETURNS TABLE(place bigint, lease bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  q queues%ROWTYPE;
  spots tid[];
  left_places bigint[];
  left_leases bigint[];
  left_keys bigint[];
  left_fates integer[];
  left_bytes bigint;
  left_count bigint;
  dead_count bigint;
BEGIN
  IF keyed THEN
    SELECT * INTO STRICT q FROM queues WHERE number = the_queue;
    PERFORM lock_keys(q.locks, ARRAY(
      SELECT k.key FROM unnest(the_places) t(place), LATERAL (
        SELECT m.key FROM messages m WHERE m.queue = the_queue AND m.place = t.place OFFSET 0) k));
  END IF;
  SELECT array_agg(l.spot), array_agg(the_places[l.nth]), array_agg(the_leases[l.nth]),
         array_agg(l.key), array_agg(the_fates[l.nth]), coalesce(sum(l.bytes), 0), count(*),
         count(*) FILTER (WHERE the_fates[l.nth] > 0)
  INTO spots, left_places, left_leases, left_keys, left_fates, left_bytes, left_count, dead_count
  FROM lock_leased(the_queue, the_now, the_places, the_leases) l;
  IF left_count = 0 THEN RETURN; END IF;
  DELETE FROM messages m WHERE m.ctid = ANY(spots);
  UPDATE tallies SET
    completed = completed + left_count - dead_count, dead = dead + dead_count,
    leased = leased - left_count, bytes = bytes - left_bytes
  WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
  IF keyed AND q.keys_in_order THEN
    IF dead_count > 0 THEN
      INSERT INTO holds(queue, key)
      SELECT DISTINCT the_queue, t.key FROM unnest(left_keys, left_fates) AS t(key, fate)
      WHERE t.key <> 0 AND t.fate = 2
      ON CONFLICT DO NOTHING;
    END IF;
    PERFORM promote(the_queue, the_now, the_wall, left_keys);
  END IF;
  RETURN QUERY SELECT * FROM unnest(left_places, left_leases);
END $$;

CREATE OR REPLACE FUNCTION retry(
  the_queue integer, the_now bigint, the_wall bigint, the_places bigint[], the_leases bigint[],
  the_hows integer[], the_dues bigint[], the_delays bigint[], the_counts bigint[],
  the_errors bytea[], the_trails bytea[])
RETURNS TABLE(place bigint, lease bigint, abandons bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  spots tid[];
  nths bigint[];
  worth bigint;
  late bigint;
  back bigint;
  ended bigint[];
  tokens bigint[];
  abandoned bigint[];
BEGIN
  SELECT ageing INTO STRICT worth FROM queues WHERE number = the_queue;
  SELECT array_agg(l.spot), array_agg(l.nth) INTO spots, nths
  FROM lock_leased(the_queue, the_now, the_places, the_leases) l;
  WITH returned AS (
    UPDATE messages m SET
      state = CASE WHEN t.due <= the_now OR coalesce(m.expires <= the_wall, false) THEN 0 ELSE 1 END,
      rank = the_now - worth * m.priority, turn = nextval('places'), due = t.due,
      lease = 0, holder = 0,
      flags = CASE WHEN t.how < 4 THEN 0 ELSE m.flags & 12 END,
      interruptions = CASE WHEN t.how < 4 THEN 0 ELSE m.interruptions END,
      first_attempt_at = CASE WHEN t.how >= 4 AND m.flags & 3 = 3 THEN NULL
                              ELSE m.first_attempt_at END,
      previous_delay = CASE WHEN t.how = 5 THEN m.previous_delay ELSE t.delay END,
      fetches = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7 - 6] WHEN t.how = 2 THEN m.fetches
                     ELSE greatest(m.fetches - 1, 0) END,
      attempts = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7 - 5]
                      WHEN t.how >= 4 AND m.flags & 1 = 1 THEN greatest(m.attempts - 1, 0)
                      ELSE m.attempts END,
      failures = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7 - 4] ELSE m.failures END,
      abandons = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7 - 3]
                      WHEN t.how = 2 THEN least(m.abandons + 1, 4294967295) ELSE m.abandons END,
      retries = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7 - 2]
                     WHEN t.how >= 4 AND m.flags & 1 = 1 AND m.attempts > 1
                       THEN greatest(m.retries - 1, 0)
                     ELSE m.retries END,
      replays = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7 - 1] ELSE m.replays END,
      total = CASE WHEN t.how IN (1, 3) THEN the_counts[t.i * 7]
                   WHEN t.how >= 4 AND m.flags & 1 = 1 THEN greatest(m.total - 1, 0)
                   ELSE m.total END,
      error = CASE WHEN t.how = 1 OR t.error <> '' THEN t.error ELSE m.error END,
      trail = CASE WHEN t.how = 1 OR t.trail <> '' THEN t.trail ELSE m.trail END
    FROM (SELECT l.spot, l.nth AS i, the_leases[l.nth] AS lease, the_hows[l.nth] AS how,
                 the_dues[l.nth] AS due, the_delays[l.nth] AS delay, the_errors[l.nth] AS error,
                 the_trails[l.nth] AS trail
          FROM unnest(spots, nths) AS l(spot, nth) OFFSET 0) t
    WHERE m.ctid = t.spot
    RETURNING m.place, t.lease, m.abandons, m.state)
  SELECT count(*), count(*) FILTER (WHERE r.state = 1), array_agg(r.place), array_agg(r.lease),
         array_agg(r.abandons)
  INTO back, late, ended, tokens, abandoned FROM returned r;
  IF back = 0 THEN RETURN; END IF;
  UPDATE tallies SET leased = leased - back, delayed = delayed + late
  WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
  RETURN QUERY SELECT * FROM unnest(ended, tokens, abandoned);
END $$;

CREATE OR REPLACE FUNCTION mark_started(
  the_queue integer, the_now bigint, the_wall bigint, the_places bigint[], the_leases bigint[])
RETURNS TABLE(place bigint, lease bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  spots tid[] := ARRAY(
    SELECT l.spot FROM lock_leased(the_queue, the_now, the_places, the_leases) l);
BEGIN
  RETURN QUERY UPDATE messages m SET
    flags = CASE WHEN m.flags & 1 = 1 THEN m.flags
                 WHEN m.first_attempt_at IS NULL THEN m.flags & 12 | 3
                 ELSE m.flags & 12 | 1 END,
    first_attempt_at = coalesce(m.first_attempt_at, the_wall),
    retries = CASE WHEN m.flags & 1 = 0 AND m.attempts > 0 THEN least(m.retries + 1, 4294967295)
                   ELSE m.retries END,
    attempts = CASE WHEN m.flags & 1 = 0 THEN least(m.attempts + 1, 4294967295)
                    ELSE m.attempts END,
    total = CASE WHEN m.flags & 1 = 0 THEN least(m.total + 1, 4294967295) ELSE m.total END
  WHERE m.ctid = ANY(spots)
  RETURNING m.place, m.lease;
END $$;

CREATE OR REPLACE FUNCTION renew(
  the_queue integer, the_now bigint, the_until bigint, the_places bigint[], the_leases bigint[])
RETURNS TABLE(place bigint, lease bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  spots tid[] := ARRAY(
    SELECT l.spot FROM lock_leased(the_queue, the_now, the_places, the_leases) l);
BEGIN
  RETURN QUERY UPDATE messages m SET due = the_until WHERE m.ctid = ANY(spots)
  RETURNING m.place, m.lease;
END $$;
)sql";

}  // namespace

std::string_view ending_functions() noexcept {
  return sql;
}

}  // namespace dlo::postgres
