#include "dlo/broker/postgres/schema.h"

namespace dlo::postgres {
namespace {

// numbers   What a queue holds and what came and went, with what is due moved and what is to be
//           dropped gone.
// end_leases_of   A holder is no more: its leases are over as of now.
// move_all  Everything that waits goes to another queue, in order, and stands behind what is there.
//           Keys whose head is leased or dead stay.
constexpr std::string_view sql = R"sql(
CREATE OR REPLACE FUNCTION load_of(the_queue integer, OUT here bigint, OUT weight bigint)
LANGUAGE sql STABLE AS $$
  SELECT sum(published - completed - dead - expired - purged)::bigint, sum(bytes)::bigint
  FROM tallies WHERE queue = the_queue $$;

CREATE OR REPLACE FUNCTION numbers(
  the_queue integer, the_now bigint, the_wall bigint,
  OUT published bigint, OUT completed bigint, OUT dead bigint, OUT expired bigint,
  OUT purged bigint, OUT delayed bigint, OUT leased bigint, OUT held bigint, OUT bytes bigint,
  OUT paused boolean, OUT envelope bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  drops boolean;
BEGIN
  SELECT q.paused, q.drop_expired INTO STRICT paused, drops FROM queues q WHERE q.number = the_queue;
  IF drops THEN
    PERFORM drop_expired(the_queue, the_now, the_wall);
  ELSE
    PERFORM advance(the_queue, the_now, the_wall);
  END IF;
  SELECT sum(t.published), sum(t.completed), sum(t.dead), sum(t.expired), sum(t.purged),
         sum(t.delayed), sum(t.leased), sum(t.held), sum(t.bytes)
  INTO published, completed, dead, expired, purged, delayed, leased, held, bytes
  FROM tallies t WHERE t.queue = the_queue;
  SELECT m.envelope INTO envelope FROM messages m WHERE m.queue = the_queue
  ORDER BY m.place LIMIT 1;
END $$;

CREATE OR REPLACE FUNCTION purge(the_queue integer, the_now bigint, the_wall bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  gone bigint;
  gone_bytes bigint;
  late bigint;
  kept bigint;
BEGIN
  PERFORM lock_all_keys((SELECT locks FROM queues WHERE number = the_queue));
  PERFORM advance(the_queue, the_now, the_wall);
  WITH deleted AS (
    DELETE FROM messages m WHERE m.queue = the_queue AND m.state <> 2 RETURNING m.state, m.bytes)
  SELECT count(*), coalesce(sum(d.bytes), 0), count(*) FILTER (WHERE d.state = 1),
         count(*) FILTER (WHERE d.state = 3)
  INTO gone, gone_bytes, late, kept FROM deleted d;
  UPDATE tallies SET purged = purged + gone, bytes = bytes - gone_bytes, delayed = delayed - late,
    held = held - kept
  WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
  RETURN gone;
END $$;

CREATE OR REPLACE FUNCTION free_key(the_queue integer, the_now bigint, the_wall bigint, the_key bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_keys((SELECT locks FROM queues WHERE number = the_queue), ARRAY[the_key]);
  DELETE FROM holds WHERE queue = the_queue AND key = the_key;
  IF FOUND THEN
    PERFORM promote(the_queue, the_now, the_wall, ARRAY[the_key]);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION end_leases_of(the_holder bigint, the_now bigint, the_wall bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  each integer;
  ended bigint;
BEGIN
  UPDATE messages m SET due = least(m.due, the_now)
  FROM queues q WHERE m.queue = q.number AND m.state IN (1, 2) AND m.state = 2
    AND m.holder = the_holder;
  GET DIAGNOSTICS ended = ROW_COUNT;
  IF ended > 0 THEN
    FOR each IN SELECT number FROM queues ORDER BY number LOOP
      PERFORM advance(each, the_now, the_wall);
    END LOOP;
  END IF;
  DELETE FROM holders WHERE number = the_holder;
  RETURN ended;
END $$;

CREATE OR REPLACE FUNCTION end_leases_of_the_dead(me bigint, the_now bigint, the_wall bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  other bigint;
  ended bigint := 0;
BEGIN
  FOR other IN SELECT number FROM holders WHERE number <> me ORDER BY number LOOP
    IF pg_try_advisory_xact_lock(other) THEN
      ended := ended + end_leases_of(other, the_now, the_wall);
    END IF;
  END LOOP;
  RETURN ended;
END $$;

-- A clock went back: whoever waits keeps the age it had.
CREATE OR REPLACE FUNCTION shift_ages(the_queue integer, jump bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE messages m SET rank = m.rank - jump WHERE m.queue = the_queue AND m.state = 0 $$;

CREATE OR REPLACE FUNCTION move_all(from_queue integer, to_queue integer, the_now bigint, the_wall bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  source queues%ROWTYPE;
  target queues%ROWTYPE;
  moved bigint;
  moved_bytes bigint;
  late bigint;
  kept bigint;
  late_there bigint;
  kept_there bigint;
  keys bigint[];
  first bigint;
BEGIN
  SELECT * INTO STRICT source FROM queues WHERE number = from_queue;
  SELECT * INTO STRICT target FROM queues WHERE number = to_queue;
  PERFORM lock_all_keys(least(source.locks, target.locks));
  PERFORM lock_all_keys(greatest(source.locks, target.locks));
  PERFORM advance(from_queue, the_now, the_wall);
  WITH going AS MATERIALIZED (
    SELECT m.place, m.state FROM messages m
    WHERE m.queue = from_queue AND m.state <> 2
      AND NOT (source.keys_in_order AND m.key <> 0 AND (
        EXISTS (SELECT FROM holds h WHERE h.queue = from_queue AND h.key = m.key)
        OR EXISTS (SELECT FROM messages f WHERE f.queue = from_queue AND f.key = m.key
                   AND f.key <> 0 AND f.state = 2)))
    ORDER BY m.place FOR UPDATE),
  numbered AS MATERIALIZED (SELECT g.place, g.state, nextval('places') AS next FROM going g),
  went AS (
    UPDATE messages m SET
      queue = to_queue, place = n.next, turn = n.next,
      state = CASE WHEN target.keys_in_order AND m.key <> 0 THEN 3
                   WHEN m.due <= the_now OR coalesce(m.expires <= the_wall, false) THEN 0
                   ELSE 1 END,
      rank = the_now - target.ageing * m.priority
    FROM numbered n WHERE m.queue = from_queue AND m.place = n.place
    RETURNING m.place, m.bytes, m.key, m.state, n.state AS was)
  SELECT count(*), coalesce(sum(w.bytes), 0), count(*) FILTER (WHERE w.was = 1),
         count(*) FILTER (WHERE w.was = 3), count(*) FILTER (WHERE w.state = 1),
         count(*) FILTER (WHERE w.state = 3), array_agg(w.key), min(w.place)
  INTO moved, moved_bytes, late, kept, late_there, kept_there, keys, first FROM went w;
  UPDATE tallies SET published = published - moved, bytes = bytes - moved_bytes,
    delayed = delayed - late, held = held - kept
  WHERE queue = from_queue AND slot = pg_backend_pid() & 31;
  UPDATE tallies SET published = published + moved, bytes = bytes + moved_bytes,
    delayed = delayed + late_there, held = held + kept_there
  WHERE queue = to_queue AND slot = pg_backend_pid() & 31;
  IF target.keys_in_order THEN
    PERFORM promote(to_queue, the_now, the_wall, keys);
    UPDATE messages m SET turn = m.place  -- heads stand where they went, not behind the rest
    WHERE m.queue = to_queue AND m.place >= first AND m.key <> 0 AND m.state < 2;
  END IF;
  RETURN moved;
END $$;
)sql";

}  // namespace

std::string_view keeping_functions() noexcept {
  return sql;
}

}  // namespace dlo::postgres
