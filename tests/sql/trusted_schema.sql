.load ./tranche
-- What may stand in a schema, also in one that is not trusted, and what may not.
PRAGMA trusted_schema = OFF;

-- Pure functions: generated columns, CHECK, indexes on expressions, views, triggers.
CREATE TABLE t(
  a,
  key BLOB AS (byte_key(a)) STORED,
  CHECK (range_contains('{"start":"","end":"40"}', byte_key(a)))
);
CREATE INDEX by_key ON t(byte_key(a, 1));
CREATE VIEW keys AS SELECT a, hex(key) AS key, range_fraction(offset_range(0, 10), a) AS f FROM t;
CREATE VIEW pieces AS SELECT restriction FROM range_split(offset_range(0, 10), 2);
CREATE TABLE log(entry);
CREATE TRIGGER logged AFTER INSERT ON t BEGIN INSERT INTO log VALUES (hex(byte_key(new.a))); END;
INSERT INTO t VALUES (5), (7);
INSERT INTO t VALUES (x'00');
SELECT * FROM keys ORDER BY key;
SELECT * FROM pieces;
SELECT * FROM log;
SELECT a FROM t WHERE byte_key(a, 1) = byte_key(5, 1);

-- Trackers show and change what others are doing: in statements of one's own only.
CREATE VIEW opened AS SELECT tracker_open('a', offset_range(0, 10));
SELECT * FROM opened;
CREATE VIEW listed AS SELECT name FROM range_trackers;
SELECT * FROM listed;
CREATE TRIGGER claimed AFTER INSERT ON log BEGIN SELECT tracker_try_claim('a', 1); END;
INSERT INTO log VALUES ('x');
DROP TRIGGER claimed;
-- Also where the schema is trusted.
PRAGMA trusted_schema = ON;
SELECT * FROM opened;
SELECT * FROM listed;
-- What depends on more than its arguments does not go into an index.
CREATE INDEX by_debug ON t(tranche_debug());

-- What is JSON nests as JSON.
SELECT json_array(offset_range(0, 10), byte_key_range('a', 'b'));
SELECT tracker_open('j', offset_range(0, 10)), tracker_try_claim('j', 3);
SELECT json_array(tracker_current_restriction('j'), tracker_checkpoint('j'));
