-- What a booking service writes beside its own tables, in the same transaction.
BEGIN;
INSERT INTO dlo_outbox (event_type, key, payload)
  SELECT 'BookingCreated', 'B-' || n, jsonb_build_object('BookingId', 'B-' || n) FROM generate_series(1, 5) n;
INSERT INTO dlo_outbox (event_type, key, payload)
  SELECT 'PaymentSucceeded', 'B-' || n, jsonb_build_object('BookingId', 'B-' || n, 'Amount', n * 400)
  FROM generate_series(1, 4) n;
INSERT INTO dlo_outbox (event_type, key, payload) VALUES ('PaymentFailed', 'B-5', '{"BookingId": "B-5", "Amount": 90}');
INSERT INTO dlo_outbox (event_type, key, payload) VALUES ('PaymentRefunded', 'B-5', '{"BookingId": "B-5", "Amount": 90}');
COMMIT;
