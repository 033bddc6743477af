.load ./tranche
-- A scan without bounds still knows where its rows are: its progress and its splits are about them.
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, a INT, b TEXT, UNIQUE(a, b));
INSERT INTO t SELECT value, char(97 + value % 25, 97 + value / 25 % 25, 97 + value / 625), value % 10, value FROM counting_input(10001, 1);
CREATE VIRTUAL TABLE temp.by_id USING byte_key_scan(t);
CREATE VIRTUAL TABLE temp.by_name USING byte_key_scan(t, key(name));
CREATE VIRTUAL TABLE temp.by_pair USING byte_key_scan(t, key(a, b));
SELECT count(*) FROM (SELECT 1 FROM by_id WHERE tracker = 'id' LIMIT 1000);
SELECT count(*) FROM (SELECT 1 FROM by_name WHERE tracker = 'name' LIMIT 1000);
SELECT count(*) FROM (SELECT 1 FROM by_pair WHERE tracker = 'pair' LIMIT 1000);
SELECT name, round(fraction_consumed, 1) FROM range_trackers;
SELECT count(*) FROM by_id WHERE restriction = tracker_try_split('id', 0.5);
SELECT count(*) BETWEEN 4000 AND 5000 FROM by_name WHERE restriction = tracker_try_split('name', 0.5);
SELECT count(*) BETWEEN 3000 AND 6000 FROM by_pair WHERE restriction = tracker_try_split('pair', 0.5);
SELECT count(*) FROM by_id WHERE tracker = 'id';
SELECT count(*) BETWEEN 4000 AND 5000 FROM by_name WHERE tracker = 'name';
SELECT tracker_check_done('id'), tracker_check_done('name');
-- It is only a hint: rows that come later, at either end, are read.
INSERT INTO t(id, name, b) VALUES (99999, 'zzz', 1), (-5, 'a', 2);
SELECT count(*), max(id) FROM by_pair WHERE tracker = 'pair' AND a IS NOT NULL;
SELECT count(*) FROM (SELECT 1 FROM by_id WHERE tracker = 'fresh' LIMIT 10002);
INSERT INTO t(id, name, b) VALUES (999999, 'zzzz', 3);
SELECT fraction_consumed < 1 FROM range_trackers WHERE name = 'fresh';
SELECT id FROM by_id WHERE tracker = 'fresh';
-- No rows, no hint.
CREATE TABLE none(id INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE temp.by_none USING byte_key_scan(none);
SELECT count(*) FROM by_none WHERE tracker = 'none';
SELECT tracker_check_done('none');
