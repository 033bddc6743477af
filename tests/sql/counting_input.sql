.load ./tranche
.nullvalue NULL
CREATE TABLE t(a);
INSERT INTO t VALUES (1), (0), (3);

-- Arguments: up_to, start, step.
SELECT group_concat(value) FROM counting_input(5);
SELECT group_concat(value) FROM counting_input(20, 10, 3);
SELECT group_concat(value) FROM counting_input(5, 5);
SELECT group_concat(value) FROM counting_input(1, 5);
SELECT group_concat(value) FROM counting_input(0, 5, -2);
SELECT * FROM (SELECT value FROM counting_input LIMIT 3);
SELECT value FROM counting_input WHERE start = 5 LIMIT 3;
SELECT value, up_to, start, step, rate FROM counting_input(2);
SELECT value, up_to, start, step FROM counting_input WHERE start = 7 AND up_to = 9;
-- Without an end: through the last number of the line, included.
SELECT count(*), max(value) FROM counting_input WHERE start = 9223372036854775805;
SELECT group_concat(value) FROM counting_input WHERE start = -9223372036854775807 AND step = -1;
SELECT max(value) FROM counting_input;
SELECT min(value) FROM counting_input WHERE step = -1;
-- The ends of int64 are exact.
SELECT count(*), max(value) FROM counting_input(9223372036854775807, 9223372036854775805);
SELECT group_concat(value) FROM counting_input(9223372036854775807, -9223372036854775808, 9223372036854775807);
SELECT group_concat(value) FROM counting_input(-9223372036854775808, -9223372036854775807, -1);
SELECT group_concat(value) FROM counting_input(-9223372036854775808, 9223372036854775807, -9223372036854775808);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(-9223372036854775808, 9223372036854775807, -9223372036854775808) ORDER BY value);
-- NULL equals nothing.
SELECT count(*) FROM counting_input(NULL);
SELECT count(*) FROM counting_input(3, NULL);
SELECT count(*) FROM counting_input(3, 1, NULL);
SELECT count(*) FROM counting_input WHERE rate = NULL;
SELECT count(*) FROM counting_input WHERE timestamp_expr = NULL;
SELECT count(*) FROM counting_input('x', NULL);
SELECT count(*) FROM counting_input WHERE max_read_time = NULL AND tracker = NULL;
-- What is wrong says which argument, what it is and why.
SELECT value FROM counting_input(10, 0, 0);
SELECT value FROM counting_input('ten');
SELECT value FROM counting_input('10');
SELECT value FROM counting_input(1.5);
SELECT value FROM counting_input(x'31');
SELECT value FROM counting_input(9e999);
SELECT value FROM counting_input(9223372036854775808);
SELECT value FROM counting_input WHERE rate = 0;
SELECT value FROM counting_input WHERE rate = -1;
SELECT value FROM counting_input WHERE rate = 0.5;
SELECT value FROM counting_input WHERE rate = 1 AND period = -1;
SELECT value FROM counting_input WHERE period = 'a minute';
SELECT value FROM counting_input WHERE max_records = -1;
SELECT value FROM counting_input WHERE max_read_time = -0.5;
SELECT value FROM counting_input(10) WHERE tracker = 5;
SELECT value FROM counting_input(10) WHERE tracker = '';
SELECT value FROM counting_input(10) WHERE restriction = 'all';
SELECT value FROM counting_input(10) WHERE restriction = '{"start":"","end":""}';
-- An integral REAL is an integer.
SELECT count(*) FROM counting_input(10.0, 5e0);

-- Terms on value keep the numbers where they are.
SELECT group_concat(value) FROM counting_input(11, 1, 3) WHERE value BETWEEN 2 AND 8;
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value > 2.5;
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value >= 2.5 AND value < 4.0;
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value IN (3, 99, 5);
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value IN (5, '3', 3.0, 'x', NULL, 2.5, 1e300);
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value = '3';
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value = 'x';
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value < 'x';
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value > x'00';
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value <= 1e300 AND value >= -9e999;
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value > NULL;
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value IS 3;
SELECT group_concat(value) FROM counting_input(6, 1) WHERE value NOT IN (3, 4);
SELECT group_concat(value) FROM counting_input(6, 1) WHERE rowid = 4;
SELECT group_concat(value) FROM counting_input WHERE value < 5;
SELECT value FROM counting_input WHERE value >= 9223372036854775807;
SELECT value FROM counting_input WHERE value > 9223372036854775807;
-- The rowid is unique, stable, and the value.
SELECT count(DISTINCT rowid) = count(*), min(rowid) FROM counting_input(8, 5);
SELECT group_concat(rowid) FROM counting_input(0, 9, -4);
-- LIMIT and OFFSET.
SELECT group_concat(value) FROM (SELECT value FROM counting_input WHERE start = 1 LIMIT 3 OFFSET 5);
SELECT count(*) FROM (SELECT value FROM counting_input WHERE start = 1 LIMIT 9223372036854775807 OFFSET 9223372036854775807);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(6, 1) LIMIT -1 OFFSET 2);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(6, 1) LIMIT 2 OFFSET -2);
SELECT count(*) FROM (SELECT value FROM counting_input(6, 1) LIMIT 0);
SELECT value FROM counting_input WHERE start = 1 LIMIT 1 OFFSET 9000000000000000000;
SELECT group_concat(value) FROM (SELECT value FROM counting_input(101, 1) WHERE value % 7 = 0 LIMIT 2 OFFSET 1);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(101) WHERE value IN (9, 3, 7, 5) LIMIT 2 OFFSET 1);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(11) WHERE (value, timestamp) > (5, 9e300) LIMIT 2);
SELECT group_concat(value) FROM (SELECT value FROM counting_input WHERE up_to IN (2, 3) LIMIT 3 OFFSET 1);
-- Orders.
SELECT value FROM counting_input(11, 1, 3) ORDER BY value DESC LIMIT 1;
SELECT group_concat(value) FROM (SELECT value FROM counting_input(5) ORDER BY value DESC, 1 LIMIT 3 OFFSET 1);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(5) ORDER BY -value LIMIT 2);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(5) WHERE timestamp_expr = '-value' ORDER BY timestamp LIMIT 2 OFFSET 1);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(0, 5, -1) ORDER BY value);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(9) WHERE value IN (1, 5, 3) ORDER BY value DESC);
SELECT max(value), (SELECT min(value) FROM counting_input(9223372036854775807, 5)) FROM counting_input(9223372036854775807);

-- Joins: an argument from another table, whatever the order of writing.
SELECT t.a, value FROM counting_input AS s JOIN t ON s.up_to = t.a ORDER BY 1, 2;
SELECT t.a, value FROM t JOIN counting_input(t.a) ORDER BY 1, 2;
SELECT t.a, s.value FROM counting_input(t.a) AS s JOIN t ORDER BY 1, 2;
SELECT a, value FROM t LEFT JOIN counting_input(t.a) ORDER BY 1, 2;
SELECT a, (SELECT count(*) FROM counting_input(t.a, 0)) FROM t;
SELECT a, value FROM t JOIN counting_input(2) ON value = a ORDER BY 1;
WITH c AS (SELECT value FROM counting_input(3)) SELECT x.value, y.value FROM c AS x, c AS y LIMIT 4;
SELECT count(*) FROM counting_input(1000) AS a JOIN counting_input(9223372036854775807) AS b ON b.value = a.value * 3;
-- The host's own table says the same where it is right.
SELECT count(*) FROM (SELECT value FROM counting_input(1001, -1000, 7) EXCEPT SELECT value FROM generate_series(-1000, 1000, 7));
SELECT count(*) FROM (SELECT value FROM generate_series(-1000, 1000, 7) EXCEPT SELECT value FROM counting_input(1001, -1000, 7));

-- Limits.
SELECT group_concat(value) FROM counting_input WHERE max_records = 4;
SELECT group_concat(value) FROM counting_input WHERE max_records = 4 AND value > 1;
SELECT group_concat(value) FROM (SELECT value FROM counting_input WHERE max_records = 4 ORDER BY value DESC LIMIT 2);
SELECT count(*) FROM counting_input WHERE max_records = 0;
SELECT count(*) FROM counting_input WHERE max_read_time = 0;
SELECT group_concat(value) FROM counting_input WHERE max_records = 3 AND start = 10 AND rate = 1000000;
SELECT group_concat(value) FROM counting_input(3) WHERE rate = 1 AND period = 0;
SELECT group_concat(value) FROM counting_input WHERE rate = 1 AND period = 1e9 AND max_read_time = 100;
SELECT group_concat(value) FROM counting_input(1001, 1000) WHERE rate = 1;
SELECT group_concat(value) FROM counting_input WHERE rate = 1000 AND value IN (5, 1000000) AND max_read_time = 1000;
-- Timestamps.
SELECT value, timestamp FROM counting_input(3) WHERE timestamp_expr = 'value * 1000 + 7';
SELECT date(timestamp / 1000, 'unixepoch') FROM counting_input(2) WHERE timestamp_expr = '1709164800000 + value * 86400000';
SELECT timestamp, typeof(timestamp) FROM counting_input(1) WHERE timestamp_expr = '2.5';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'nullif(value, 0)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'value -- and a comment';
SELECT abs(timestamp - 86400000 * (julianday('now') - 2440587.5)) < 3600000, timestamp = timestamp FROM counting_input(1);
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'value +';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'no_such_column';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '(SELECT a FROM t)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '(SELECT count(*) FROM sqlite_master)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'value IN (SELECT 1)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'sum(value)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'row_number() OVER ()';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'max(value, 3)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'tranche_version()';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'writefile(''stolen'', 1)';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'load_extension(''x'')';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '?1';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '1); DROP VIEW output; SELECT (2';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '1, 2';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '''soon''';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '9e18 * 10';
SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = '';

-- Restrictions and trackers.
SELECT group_concat(value) FROM counting_input(100, 10, 5) WHERE restriction = offset_range(20, 36);
SELECT group_concat(value) FROM counting_input(0, 10, -3) WHERE restriction = offset_range(-10, -3);
SELECT group_concat(value) FROM counting_input WHERE restriction = offset_range(3, 3);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(100) WHERE tracker = 'w' LIMIT 4);
SELECT restriction, last_claimed, last_attempted FROM range_trackers;
SELECT group_concat(value) FROM (SELECT value FROM counting_input(100) WHERE tracker = 'w' LIMIT 4);
SELECT tracker_try_split('w', 0.5);
SELECT group_concat(value) FROM (SELECT value FROM counting_input(100) WHERE tracker = 'w' AND value >= 50);
SELECT tracker_check_done('w'), tracker_current_restriction('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(100) WHERE tracker = 'w' AND value BETWEEN 10 AND 12;
SELECT tracker_current_restriction('w'), tracker_check_done('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(100, 10, 5) WHERE tracker = 'w' AND restriction = offset_range(23, 41);
SELECT tracker_current_restriction('w'), tracker_check_done('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(0, 10, -3) WHERE tracker = 'w' AND value < 8;
SELECT tracker_current_restriction('w'), tracker_check_done('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'w' AND max_records = 3;
SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'w' AND max_records = 3;
SELECT tracker_checkpoint('w'), tracker_check_done('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'w' AND max_read_time = 0;
SELECT last_attempted FROM range_trackers;
SELECT group_concat(value) FROM (SELECT value FROM counting_input(10) WHERE tracker = 'w' ORDER BY value DESC LIMIT 3);
SELECT tracker_check_done('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'w' AND value IN (7, 2, 4);
SELECT tracker_current_restriction('w'), tracker_check_done('w'), tracker_close('w');
SELECT count(*) FROM counting_input WHERE start = 9223372036854775800 AND tracker = 'w';
SELECT tracker_current_restriction('w'), tracker_check_done('w'), tracker_close('w');
SELECT group_concat(value) FROM counting_input(3, 5) WHERE tracker = 'w';
SELECT tracker_current_restriction('w'), tracker_check_done('w'), tracker_close('w');
SELECT count(*) FROM counting_input(10) AS a JOIN counting_input(10) AS b WHERE a.tracker = 'w' AND b.tracker = 'w';
SELECT tracker_close('w');
SELECT tracker_open('k', byte_key_range('', ''));
SELECT value FROM counting_input(10) WHERE tracker = 'k';

-- In a schema, also one that is not trusted.
PRAGMA trusted_schema = OFF;
CREATE VIEW days AS SELECT value, date(timestamp / 1000, 'unixepoch') AS day FROM counting_input(2)
 WHERE timestamp_expr = '1709164800000 + value * 86400000';
SELECT * FROM days;
CREATE VIEW thief AS SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = 'readfile(''/etc/passwd'')';
SELECT * FROM thief;
CREATE TABLE log(n);
CREATE TRIGGER counted AFTER INSERT ON t BEGIN INSERT INTO log SELECT value FROM counting_input(new.a); END;
INSERT INTO t VALUES (2);
SELECT group_concat(n) FROM log;
