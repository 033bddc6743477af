-- scan_splits: parts of a table that hold every row once and differ by one row at most.
.load ./tranche
.mode list
.headers on

CREATE VIEW counts AS WITH c(parts) AS (VALUES (1), (2), (3), (7), (100)) SELECT parts FROM c;

.print '# ids at both ends, negative ids, id 0'
CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
INSERT INTO t VALUES (-9223372036854775808, 'a'), (0, 'b'), (9223372036854775807, 'c');
CREATE VIRTUAL TABLE temp.st USING byte_key_scan(t);
SELECT * FROM scan_splits('t', 2);
SELECT parts, count(*) AS given, sum(rows) AS rows,
  (SELECT group_concat(v, '') FROM scan_splits('t', parts) AS p CROSS JOIN st ON st.restriction = p.restriction) AS read
  FROM counts, scan_splits('t', parts) GROUP BY parts;
DELETE FROM t WHERE id <> 0;
INSERT INTO t VALUES (-5, 'd');
SELECT * FROM scan_splits('t', 4);
DELETE FROM t;
SELECT count(*) AS "no rows, no parts" FROM scan_splits('t', 4);

.print '# every number of rows around the size of a part'
INSERT INTO t SELECT value, value FROM counting_input(9, 0);
SELECT group_concat(rows) AS "9 in 2" FROM scan_splits('t', 2);
INSERT INTO t VALUES (100, 'x');
SELECT group_concat(rows) AS "10 in 2" FROM scan_splits('t', 2);
INSERT INTO t VALUES (101, 'x');
SELECT group_concat(rows) AS "11 in 2" FROM scan_splits('t', 2);
SELECT group_concat(rows) AS "11 in 5" FROM scan_splits('t', 5);
SELECT count(*) AS parts, max(rows) - min(rows) AS difference FROM scan_splits('t', 100);

.print '# skewed, text, UUID, blob and composite keys: balanced whatever they are'
CREATE TABLE events(uuid TEXT PRIMARY KEY, user INT, at INT, hash BLOB UNIQUE NOT NULL, UNIQUE (user, at)) WITHOUT ROWID;
INSERT INTO events SELECT printf('%08x-0000-4000-8000-%012x', value * 2654435761 & 0xffffffff, value),
    CASE WHEN value < 900 THEN 1 ELSE value END, value, CAST(printf('%016x', value * value) AS BLOB)
  FROM counting_input(1000, 0);
CREATE TABLE keys(key TEXT);
INSERT INTO keys VALUES ('uuid'), ('user, at'), ('hash'), ('byte_key(hash)');
SELECT keys.key, count(*) AS parts, min(rows) AS least, max(rows) AS most, sum(rows) AS rows FROM keys, scan_splits('events', 4, keys.key) GROUP BY 1;
SELECT ordinal, restriction, rows FROM scan_splits('events', 4, 'hash');
CREATE VIRTUAL TABLE temp.by_user USING byte_key_scan(events, key(user, at));
SELECT count(*) AS rows, count(DISTINCT uuid) AS different FROM scan_splits('events', 7, 'user, at') AS p CROSS JOIN by_user ON by_user.restriction = p.restriction;

.print '# NULLs are many and have their place'
CREATE TABLE a(k TEXT PRIMARY KEY, v);
INSERT INTO a VALUES (NULL, 1), (NULL, 2), ('', 3), ('a', 4);
CREATE VIRTUAL TABLE temp.sa USING byte_key_scan(a, key(k));
SELECT p.ordinal, v FROM scan_splits('a', 4, 'k') AS p CROSS JOIN sa ON sa.restriction = p.restriction;

.print '# bounds do not filter: a part is a restriction, and rows that come later have their place'
CREATE TABLE kept AS SELECT * FROM scan_splits('a', 2, 'k');
INSERT INTO a VALUES ('A', 5), ('zz', 6), (NULL, 7);
SELECT k.ordinal, count(*) AS rows FROM kept AS k CROSS JOIN sa ON sa.restriction = k.restriction GROUP BY 1;

.print '# attached and temp databases'
ATTACH ':memory:' AS aux;
CREATE TABLE aux."two words"(id INTEGER PRIMARY KEY);
INSERT INTO aux."two words" VALUES (1), (2), (3);
SELECT ordinal, rows FROM scan_splits('aux."two words"', 2);
SELECT ordinal, rows FROM scan_splits('two words', 2);
CREATE TEMP TABLE t(id INTEGER PRIMARY KEY);
SELECT count(*) AS "temp first" FROM scan_splits('t', 2);
SELECT count(*) AS "main" FROM scan_splits('main.t', 2);

.print '# refused'
SELECT * FROM scan_splits('t', 0);
SELECT * FROM scan_splits('t', 'two');
SELECT * FROM scan_splits('t');
SELECT * FROM scan_splits('nothing', 2);
SELECT * FROM scan_splits('', 2);
SELECT * FROM scan_splits('counts', 2);
SELECT * FROM scan_splits('a', 2, 'v');
SELECT * FROM scan_splits('a', 2, 'k,');
SELECT * FROM scan_splits('a', 2, 5);
.print '# a key that is none is met in one part, too'
CREATE TABLE mixed(k BLOB UNIQUE);
INSERT INTO mixed VALUES (5), (x'61');
SELECT * FROM scan_splits('mixed', 1, 'k');
SELECT * FROM scan_splits('mixed', 2, 'k');
SELECT restriction, rows FROM scan_splits('mixed', 1, 'byte_key(k)');
SELECT count(*) AS "nothing equals NULL" FROM scan_splits('a', NULL);
