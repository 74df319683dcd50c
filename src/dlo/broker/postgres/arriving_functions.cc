#include "dlo/broker/postgres/schema.h"

namespace dlo::postgres {
namespace {

// publish   All or none. Arrays are in step; those of keys, counts and ids are empty if nobody has
//           any. Of each message: where it stands, and whether it repeats the one that stands
//           there. A key's places are drawn under its lock, so that they rise in the order in which
//           messages can be seen.
// declare   Makes the queue, or gives it these settings from now on.
constexpr std::string_view sql = R"sql(
CREATE OR REPLACE FUNCTION publish(
  the_queue integer, the_now bigint, the_wall bigint, the_dues bigint[], the_priorities integer[],
  the_keys bigint[], the_expiries bigint[], the_sizes bigint[], the_counts bigint[],
  the_envelopes bytea[], the_payloads bytea[], the_ids bytea[], the_window bigint)
RETURNS TABLE(place bigint, repeats boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  q queues%ROWTYPE;
  drawn bigint[];
  stands bigint[];
  behind boolean[];
  added bigint;
  late bigint;
  kept bigint;
  added_bytes bigint;
BEGIN
  SELECT * INTO STRICT q FROM queues WHERE number = the_queue;
  IF q.keys_in_order AND cardinality(the_keys) > 0 THEN
    PERFORM lock_keys(q.locks, the_keys);
  END IF;
  drawn := ARRAY(SELECT nextval('places') FROM generate_series(1, cardinality(the_dues)));
  stands := drawn;
  IF cardinality(the_ids) > 0 THEN
    INSERT INTO dedupe AS d(queue, id, at, place)
    SELECT the_queue, t.id, the_now + CASE WHEN octet_length(t.id) > 16 THEN 604800000 ELSE 0 END,
      drawn[t.i]
    FROM unnest(the_ids) WITH ORDINALITY AS t(id, i) WHERE t.id <> '' ORDER BY t.id
    ON CONFLICT (queue, id) DO UPDATE SET at = EXCLUDED.at, place = EXCLUDED.place
      WHERE octet_length(d.id) <= 16 AND d.at <= EXCLUDED.at - the_window;
    stands := ARRAY(
      SELECT coalesce(d.place, drawn[t.i])
      FROM unnest(the_ids) WITH ORDINALITY AS t(id, i)
      LEFT JOIN dedupe d ON d.queue = the_queue AND d.id = t.id ORDER BY t.i);
    IF drawn[1] & 127 = 0 THEN
      PERFORM forget_ids(the_queue, the_now - the_window);
    END IF;
  END IF;
  IF q.keys_in_order AND cardinality(the_keys) > 0 THEN
    behind := ARRAY(
      SELECT t.key <> 0 AND (
               row_number() OVER (PARTITION BY t.key, stands[t.i] = drawn[t.i] ORDER BY t.i) > 1
               OR EXISTS (SELECT FROM messages m
                          WHERE m.queue = the_queue AND m.key = t.key AND m.key <> 0)
               OR EXISTS (SELECT FROM holds h WHERE h.queue = the_queue AND h.key = t.key))
      FROM unnest(the_keys) WITH ORDINALITY AS t(key, i) ORDER BY t.i);
  END IF;
  WITH arrived AS (
    INSERT INTO messages AS m(
      queue, place, state, priority, rank, turn, due, key, bytes, expires, fetches, attempts,
      failures, abandons, retries, replays, total, envelope, payload)
    SELECT the_queue, drawn[t.i],
      CASE WHEN coalesce(behind[t.i], false) THEN 3
           WHEN t.due > the_now AND t.expires > the_wall THEN 1
           ELSE 0 END,
      t.priority, the_now - q.ageing * t.priority, drawn[t.i], t.due, coalesce(t.key, 0), t.bytes,
      nullif(t.expires, 9223372036854775807),
      coalesce(the_counts[t.i * 7 - 6], 0), coalesce(the_counts[t.i * 7 - 5], 0),
      coalesce(the_counts[t.i * 7 - 4], 0), coalesce(the_counts[t.i * 7 - 3], 0),
      coalesce(the_counts[t.i * 7 - 2], 0), coalesce(the_counts[t.i * 7 - 1], 0),
      coalesce(the_counts[t.i * 7], 0), t.envelope, t.payload
    FROM unnest(the_dues, the_priorities, the_keys, the_expiries, the_sizes, the_envelopes,
                the_payloads)
         WITH ORDINALITY AS t(due, priority, key, expires, bytes, envelope, payload, i)
    WHERE stands[t.i] = drawn[t.i]
    RETURNING m.state, m.bytes)
  SELECT count(*), count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 3),
         coalesce(sum(bytes), 0)
  INTO added, late, kept, added_bytes FROM arrived;
  UPDATE tallies SET published = published + added, delayed = delayed + late, held = held + kept,
    bytes = bytes + added_bytes
  WHERE queue = the_queue AND slot = pg_backend_pid() & 31;
  RETURN QUERY SELECT s.stand, s.stand <> s.draw FROM unnest(stands, drawn) AS s(stand, draw);
END $$;

-- Some of the oldest at a time; who is being written again is left to others.
CREATE OR REPLACE FUNCTION forget_ids(the_queue integer, before bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM dedupe d USING (
    SELECT o.id FROM dedupe o WHERE o.queue = the_queue AND o.at <= before
    ORDER BY o.at LIMIT 5000 FOR UPDATE SKIP LOCKED) old
  WHERE d.queue = the_queue AND d.id = old.id AND d.at <= before;
END $$;

-- Under the lock of all keys: who is held follows from the order of places.
CREATE OR REPLACE FUNCTION order_keys(the_queue integer, the_now bigint, the_wall bigint, in_order boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF in_order THEN
    UPDATE messages m SET state = 3
    WHERE m.queue = the_queue AND m.key <> 0 AND m.state < 2
      AND (EXISTS (SELECT FROM messages f
                   WHERE f.queue = the_queue AND f.key = m.key AND f.key <> 0 AND f.place < m.place)
           OR EXISTS (SELECT FROM holds h WHERE h.queue = the_queue AND h.key = m.key));
  ELSE
    UPDATE messages m SET
      state = CASE WHEN m.due <= the_now OR coalesce(m.expires <= the_wall, false) THEN 0 ELSE 1 END,
      rank = the_now - (SELECT ageing FROM queues WHERE number = the_queue) * m.priority,
      turn = nextval('places')
    WHERE m.queue = the_queue AND m.key <> 0 AND m.state = 3;
  END IF;
  PERFORM count_again(the_queue);
END $$;

-- How many are where, from the rows themselves. Nobody may move one meanwhile.
CREATE OR REPLACE FUNCTION count_again(the_queue integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM tallies WHERE queue = the_queue ORDER BY slot FOR UPDATE;
  UPDATE tallies SET delayed = 0, leased = 0, held = 0 WHERE queue = the_queue;
  UPDATE tallies t SET delayed = c.delayed, leased = c.leased, held = c.held
  FROM (SELECT count(*) FILTER (WHERE m.state = 1) AS delayed,
               count(*) FILTER (WHERE m.state = 2) AS leased,
               count(*) FILTER (WHERE m.state = 3) AS held
        FROM messages m WHERE m.queue = the_queue) c
  WHERE t.queue = the_queue AND t.slot = 0;
END $$;

CREATE OR REPLACE FUNCTION declare_queue(
  the_name bytea, the_now bigint, the_wall bigint, the_ageing bigint, in_order boolean,
  counts boolean, drops boolean, most_messages bigint, most_bytes bigint, the_window bigint,
  the_ttl bigint)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  before queues%ROWTYPE;
  made integer;
BEGIN
  SELECT * INTO before FROM queues WHERE name = the_name FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO queues AS q(name, ageing, keys_in_order, claims_count, drop_expired, max_messages,
                            max_bytes, dedupe_window, ttl)
    VALUES(the_name, the_ageing, in_order, counts, drops, most_messages, most_bytes, the_window,
           the_ttl)
    ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name RETURNING q.number INTO made;
    INSERT INTO tallies(queue, slot) SELECT made, s FROM generate_series(0, 31) s
    ON CONFLICT DO NOTHING;
    RETURN made;
  END IF;
  IF before.keys_in_order <> in_order OR before.ageing <> the_ageing THEN
    PERFORM lock_all_keys(before.locks);
    LOCK TABLE messages IN SHARE ROW EXCLUSIVE MODE;
  END IF;
  UPDATE queues SET ageing = the_ageing, keys_in_order = in_order, claims_count = counts,
    drop_expired = drops, max_messages = most_messages, max_bytes = most_bytes,
    dedupe_window = the_window, ttl = the_ttl
  WHERE number = before.number;
  IF before.ageing <> the_ageing THEN
    UPDATE messages m SET rank = m.rank + (before.ageing - the_ageing) * m.priority
    WHERE m.queue = before.number AND m.state = 0 AND m.rank > -(1::bigint << 60);
  END IF;
  IF before.keys_in_order <> in_order THEN
    PERFORM order_keys(before.number, the_now, the_wall, in_order);
  END IF;
  RETURN before.number;
END $$;
)sql";

}  // namespace

std::string_view arriving_functions() noexcept {
  return sql;
}

}  // namespace dlo::postgres
