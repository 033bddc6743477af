.load ./tranche
.nullvalue NULL
-- Order over storage classes, and decoding back.
CREATE TABLE v(id INTEGER PRIMARY KEY, x);
INSERT INTO v(x) VALUES (NULL), (-9e999), (-9.3e18), (-9223372036854775808), (-1), (-0.0), (0), (0.5), (1),
  (9007199254740992.0), (9007199254740993), (9223372036854775807), (9223372036854775808.0), (9e999),
  (''), ('a'), (CAST(x'6100' AS TEXT)), ('aa'), ('b'), (x''), (x'00'), (x'0000'), (x'ff');
SELECT count(*) FROM v a JOIN v b WHERE (a.x < b.x) IS NOT TRUE AND byte_key(a.x) < byte_key(b.x)
  AND a.x IS NOT NULL;
SELECT count(*) FROM v a JOIN v b WHERE a.x IS b.x AND byte_key(a.x) <> byte_key(b.x);
SELECT group_concat(typeof(value) || ' ' || (value IS x), ', ')
  FROM (SELECT value, x FROM v, byte_key_values(byte_key(x)) ORDER BY id);
SELECT ordinal, quote(value) FROM byte_key_values(byte_key('a', 1.0, NULL, x'', ''));
-- NULL and bad arguments.
SELECT byte_key_range(NULL, 'a'), range_contains(NULL, 1), offset_range(1, NULL);
SELECT count(*) FROM byte_key_values(NULL);
SELECT count(*) FROM range_split(NULL, 2);
SELECT byte_key();
SELECT * FROM byte_key_values(x'ff');
SELECT * FROM byte_key_values('text');
SELECT * FROM byte_key_values;
SELECT byte_key_range(1, 2);
SELECT offset_range(0.5, 2);
SELECT offset_range(3, 2);
SELECT range_contains('{"start":"0"}', x'00');
SELECT range_contains(offset_range(0, 9), 'five');
SELECT range_interpolate(offset_range(0, 9), 1);
SELECT range_interpolate(byte_key_range(x'10', x'1000'), 0.5);
SELECT * FROM range_split(offset_range(0, 9), 0);
-- JSON text nests, and pure functions serve in schemas that are not trusted.
SELECT json_array(offset_range(0, 5));
SELECT json_array(ordinal, restriction) FROM range_split(offset_range(0, 5), 2);
SELECT json_group_array(restriction) FROM range_split(offset_range(0, 5), 2);
CREATE TABLE few(id INTEGER PRIMARY KEY);
INSERT INTO few VALUES (1), (2);
SELECT json_object('part', restriction) FROM scan_splits('few', 2);
CREATE VIRTUAL TABLE temp.scan_of_few USING byte_key_scan(few);
SELECT DISTINCT json_array(restriction, 1) FROM scan_of_few WHERE restriction = '{"start":"","end":""}';
SELECT DISTINCT json_array(restriction, 2) FROM byte_key_scan('few') WHERE restriction = '{"start":"","end":""}';
SELECT json_array(restriction, 3) FROM counting_input WHERE restriction = '{"from":0,"to":1}';
SELECT json_array(restriction, 4) FROM counting_input(1);
SELECT tracker_open('nest', offset_range(0, 5)) IS NOT NULL AS opened;
SELECT json_array(name, restriction) FROM range_trackers;
SELECT tracker_close('nest') AS closed;
PRAGMA trusted_schema = OFF;
CREATE TABLE k(a, b, key AS (byte_key(a, b)), CHECK (byte_key(a) IS NOT NULL));
CREATE INDEX ik ON k(byte_key(b));
CREATE VIEW kv AS SELECT hex(key) AS key, (SELECT count(*) FROM range_split(offset_range(0, 9), 3)) AS n FROM k;
INSERT INTO k VALUES ('x', 1);
SELECT n, key = hex(byte_key('x', 1)) FROM kv;
-- A joined argument that comes later in the text of the query.
SELECT t.n, s.restriction FROM range_split(offset_range(0, 4), t.n) AS s JOIN (SELECT 2 AS n) AS t;
-- Keys too long to measure are refused; they can be compared.
SELECT range_fraction(byte_key_range(zeroblob(1048577), ''), x'01');
SELECT range_fraction(byte_key_range('', ''), zeroblob(1048577));
SELECT range_interpolate(byte_key_range(zeroblob(1048577), ''), 0.5);
SELECT count(*) FROM range_split(byte_key_range(zeroblob(1048577), ''), 2);
SELECT range_contains(byte_key_range(zeroblob(1048577), ''), x'01');
