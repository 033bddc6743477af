-- byte_key_scan: keys of every form, what goes into the inner statement, and what is refused.
.load ./tranche
.mode list
.headers on

.print '# the rowid'
CREATE TABLE purchases(id INTEGER PRIMARY KEY, user TEXT, cost REAL, note TEXT COLLATE NOCASE);
INSERT INTO purchases VALUES (-5, 'ann', 1.5, 'Tea'), (0, 'bob', 20, 'ink'), (7, 'ann', 3, NULL),
  (9223372036854775807, 'cyd', 0.25, 'TEA'), (-9223372036854775808, 'dee', 8, 'salt');
CREATE VIRTUAL TABLE temp.s USING byte_key_scan(purchases);
SELECT rowid, *, hex(byte_key) AS key FROM s;
SELECT id FROM s WHERE id BETWEEN -5 AND 7;
SELECT id FROM s WHERE id > -5 AND id < 9223372036854775807 ORDER BY id;
SELECT id FROM s WHERE id >= 9223372036854775807;
SELECT id FROM s WHERE id > 6.5;
SELECT id FROM s WHERE id = '7';
SELECT id FROM s WHERE id IN (7, 0, NULL, 8);
SELECT id FROM s WHERE note = 'tea' AND cost > 1;
SELECT id FROM s WHERE byte_key >= x'80' AND byte_key < x'8000000000000007';
SELECT id FROM s WHERE restriction = byte_key_range(x'7fffffffffffffff', x'');
SELECT id FROM s('reader', byte_key_range(x'', x'80'));
SELECT count(*) AS "nothing equals NULL" FROM s WHERE restriction = NULL;

.print '# plans'
.mode list
EXPLAIN QUERY PLAN SELECT user FROM s WHERE id > 3 AND cost > 1 ORDER BY id;
EXPLAIN QUERY PLAN SELECT user FROM s ORDER BY id DESC;
EXPLAIN QUERY PLAN SELECT user FROM s ORDER BY user;

.print '# a text key is its own bytes; NULL, the empty text and blobs lie beside them'
CREATE TABLE a(k TEXT PRIMARY KEY, v);
INSERT INTO a VALUES (NULL, 1), (NULL, 2), ('', 3), ('a', 4), ('aa', 5), ('b', 6), (x'61', 7);
CREATE VIRTUAL TABLE temp.sa USING byte_key_scan(a, key(k));
SELECT hex(byte_key) AS key, k, v FROM sa;
SELECT v FROM sa WHERE k >= 'a' AND k < 'b';
SELECT v FROM sa WHERE k IS NULL;
-- There is no text right behind 'a' but what begins with it: the two restrictions hold every row once.
SELECT v FROM sa WHERE restriction = byte_key_range('', x'6100');
SELECT v FROM sa WHERE restriction = byte_key_range(x'6100', '');

.print '# columns together, of any type'
CREATE TABLE m(x, y, z, PRIMARY KEY (x, y)) WITHOUT ROWID;
INSERT INTO m VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c'), (2, 'one', 'd'), ('2', x'01', 'e'), (2.5, -1, 'f'),
  (9007199254740993, 0, 'g'), (9007199254740992.0, 0, 'h');
CREATE VIRTUAL TABLE temp.sm USING byte_key_scan(m);
SELECT x, y, z, hex(byte_key) AS key FROM sm;
SELECT z FROM sm WHERE x = 2 AND y > 0;
SELECT z FROM sm WHERE (x, y) > (1, 2);
SELECT z FROM sm WHERE byte_key > byte_key(1, 2) AND byte_key <= byte_key(2, 'one');
-- Batches of one: each goes on behind the last.
SELECT z FROM sm WHERE tracker = 'm' LIMIT 1;
SELECT z FROM sm WHERE tracker = 'm' LIMIT 1;
SELECT z FROM sm WHERE tracker = 'm' LIMIT 3;
SELECT group_concat(z) AS z FROM sm WHERE tracker = 'm';
SELECT tracker_check_done('m') AS done, tracker_close('m') AS closed;

.print '# blobs as they are, and what is none is refused before the first row'
CREATE TABLE b(k BLOB PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO b VALUES (x'00', 1), (x'0001', 2), (x'ff', 3);
CREATE VIRTUAL TABLE temp.sb USING byte_key_scan(b);
SELECT hex(byte_key) AS key, v FROM sb;
INSERT INTO b VALUES (5, 0);
SELECT v FROM sb;
CREATE VIRTUAL TABLE temp.se USING byte_key_scan(b, key(byte_key(k)));
SELECT hex(byte_key) AS key, v FROM se;

.print '# chosen columns, conditions, names that need quotes'
CREATE TABLE "my ""table"""("select" INTEGER PRIMARY KEY, "a b" TEXT, tracker TEXT, total AS ("select" * 2));
INSERT INTO "my ""table"""("select", "a b", tracker) VALUES (1, 'x', 't1'), (2, 'y', 't2'), (3, 'z', 't3');
CREATE VIRTUAL TABLE temp.q USING byte_key_scan("my ""table""");
CREATE VIRTUAL TABLE temp.q USING byte_key_scan("my ""table""", columns("select", "a b" AS b, tracker AS t, total),
  where("a b" <> 'y' /* not this one */));
SELECT * FROM q;
SELECT b FROM q WHERE total > 2;
ATTACH ':memory:' AS aux;
CREATE TABLE aux.t(k INTEGER PRIMARY KEY, v);
INSERT INTO aux.t VALUES (1, 'in aux');
CREATE TEMP TABLE t(k INTEGER PRIMARY KEY, v);
INSERT INTO temp.t VALUES (1, 'in temp');
CREATE VIRTUAL TABLE temp.aux_scan USING byte_key_scan(aux.t);
CREATE VIRTUAL TABLE temp.temp_scan USING byte_key_scan(t);
SELECT v FROM aux_scan UNION ALL SELECT v FROM temp_scan;

.print '# without a CREATE'
SELECT hex(byte_key) AS key, row FROM byte_key_scan('purchases') LIMIT 2;
SELECT row FROM byte_key_scan('a', 'k', 'v AS value', 'v > 2') WHERE byte_key < x'62';
SELECT json_extract(row, '$.note') AS note FROM byte_key_scan('purchases') WHERE byte_key = x'8000000000000000';
SELECT row FROM byte_key_scan('main.b', 'byte_key(k)') LIMIT 2;
CREATE TABLE odd(i INTEGER PRIMARY KEY, r REAL);
INSERT INTO odd VALUES (1, 9e999), (2, -9e999), (3, 0.5);
SELECT row, json_extract(row, '$.r') AS r FROM byte_key_scan('odd');

.print '# refused, with the reason'
CREATE VIEW v AS SELECT * FROM a;
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(v);
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(s);
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(no_such_table);
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(nowhere.a);
CREATE VIRTUAL TABLE temp.r USING byte_key_scan();
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, key(user));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, key(lower(user)));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, key(nothing));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, columns(nothing));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, where(no_such > 1));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, where(cost > ?1));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, where(cost > 1), where(cost < 2));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(purchases, order(cost));
CREATE TABLE c(n TEXT COLLATE NOCASE PRIMARY KEY, o TEXT, p TEXT);
CREATE UNIQUE INDEX c_o ON c(o) WHERE o > 'm';
CREATE UNIQUE INDEX c_po ON c(p, o);
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(c, key(n));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(c, key(o));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(c, key(o, p));
CREATE VIRTUAL TABLE temp.r USING byte_key_scan(c, key(p, o));
SELECT * FROM s WHERE restriction = 'all';
SELECT * FROM s WHERE restriction = offset_range(0, 9);
SELECT * FROM s WHERE tracker = 5;
SELECT * FROM s WHERE tracker = '';
SELECT tracker_open('numbers', offset_range(0, 9)) AS opened;
SELECT * FROM s WHERE tracker = 'numbers';
SELECT * FROM byte_key_scan;
SELECT * FROM byte_key_scan('purchases', 'user');
SELECT * FROM byte_key_scan('purchases', 'id', 'nothing');
SELECT * FROM byte_key_scan('purchases', 'id', 'id', 'no_such > 1');
CREATE VIEW w AS SELECT * FROM byte_key_scan('purchases');
SELECT * FROM w;
DROP VIEW w;

.print '# trackers: a restriction is opened under its name, and stays'
SELECT id FROM s WHERE tracker = 'w1' AND restriction = byte_key_range(x'7f', x'90') AND id >= 0;
SELECT tracker_current_restriction('w1') AS restriction, tracker_check_done('w1') AS done;
SELECT id FROM s WHERE tracker = 'w1';
-- Another restriction under the name of one that is open would never be read.
SELECT id FROM s WHERE tracker = 'w1' AND restriction = byte_key_range(x'90', x'');
SELECT tracker_close('w1') AS closed;
-- While it is open its range stays; terms on the key only filter.
SELECT tracker_open('w2', byte_key_range(x'7f', x'')) AS opened;
SELECT id FROM s WHERE tracker = 'w2' AND id < 5;
SELECT tracker_check_done('w2') AS done;
-- One scan at a time.
SELECT x.id FROM s AS x, s AS y WHERE x.tracker = 'w3' AND y.tracker = 'w3';
SELECT tracker_close('w3') AS closed;
-- As the inner loop of a join it would be begun again and again.
SELECT count(*) FROM a CROSS JOIN s ON s.tracker = 'w4';
SELECT tracker_close('w4') AS closed;
SELECT a.v, s.id FROM s CROSS JOIN a ON a.v = s.id WHERE s.tracker = 'w4';
-- What a LIMIT leaves was not claimed, whatever stands between.
SELECT id, row_number() OVER () AS n FROM (SELECT id FROM s WHERE tracker = 'w5' AND cost < 10 LIMIT 2);
SELECT hex(last_claimed) AS last_claimed FROM range_trackers WHERE name = 'w5';
SELECT id FROM s WHERE tracker = 'w5' AND cost < 10 LIMIT 2;
SELECT tracker_checkpoint('w5') AS residual;
SELECT count(*) AS none FROM s WHERE tracker = 'w5';

.print '# the table changes: a scan that was declared over it says so'
CREATE TABLE d(k TEXT PRIMARY KEY, gone INT, kept INT);
INSERT INTO d VALUES ('a', 1, 2);
CREATE VIRTUAL TABLE temp.sd USING byte_key_scan(d, key(k));
ALTER TABLE d ADD COLUMN more INT DEFAULT 'new';
SELECT * FROM sd;
ALTER TABLE d DROP COLUMN gone;
SELECT * FROM sd;
SELECT k FROM sd;
CREATE TABLE e(k TEXT NOT NULL, v);
CREATE UNIQUE INDEX e_k ON e(k);
INSERT INTO e VALUES ('a', 1);
CREATE VIRTUAL TABLE temp.se2 USING byte_key_scan(e, key(k));
SELECT * FROM se2;
DROP INDEX e_k;
SELECT * FROM se2;
DROP TABLE e;
SELECT * FROM se2;
DROP TABLE se2;

.print '# what is no blob is met under a tracker, too, whose range has no keys'
CREATE TABLE mixed(k BLOB UNIQUE);
INSERT INTO mixed VALUES (5), (x'61');
CREATE VIRTUAL TABLE temp.blobs USING byte_key_scan(mixed, key(k));
SELECT k FROM blobs WHERE k <= '%' AND tracker = 'below';
SELECT k FROM blobs WHERE tracker = 'none' AND restriction = '{"start":"","end":"00"}';
SELECT hex(k) FROM blobs WHERE tracker = 'empty' AND restriction = '{"start":"61","end":"61"}';
SELECT name, restriction, done FROM range_trackers WHERE name IN ('below', 'none', 'empty') ORDER BY name;

.print '# a generated REAL stays one where the inner statement must sort'
CREATE TABLE generated(a TEXT, c, d REAL AS (abs(length(a))) VIRTUAL, UNIQUE (a, c DESC), UNIQUE (c, d DESC));
INSERT INTO generated(a, c) VALUES ('xyz', 1), ('vwxyz', 2);
CREATE VIRTUAL TABLE temp.ga USING byte_key_scan(generated, key(a, c));
CREATE VIRTUAL TABLE temp.gc USING byte_key_scan(generated, key(c, d));
SELECT typeof(d) AS type, d / 2 AS half, d FROM ga WHERE d / 2 > 1;
SELECT typeof(d) AS type, d / 2 AS half, byte_key = byte_key(c, d) AS has_key FROM gc WHERE d > 2.5;
SELECT row FROM byte_key_scan('generated', 'a, c');

.print '# what is never true of a key leaves an empty range'
CREATE TABLE never(k INTEGER PRIMARY KEY, u TEXT UNIQUE);
INSERT INTO never VALUES (1, 'a'), (2, 'b');
CREATE VIRTUAL TABLE temp.nk USING byte_key_scan(never);
CREATE VIRTUAL TABLE temp.nu USING byte_key_scan(never, key(u));
SELECT k FROM nk WHERE tracker = 'n1' AND k > 'zzz';
SELECT k FROM nk WHERE tracker = 'n2' AND k = NULL;
SELECT k FROM nk WHERE tracker = 'n3' AND k >= x'00' AND k < 5;
SELECT k FROM nk WHERE tracker = 'n4' AND k > 9223372036854775807;
SELECT k FROM nu WHERE tracker = 'n5' AND u <= NULL;
SELECT k FROM nu WHERE tracker = 'n6' AND u > 'b' AND u < 'a';
SELECT k FROM nk WHERE tracker = 'n7' AND k < 'zzz';
SELECT k FROM nu WHERE tracker = 'n8' AND u IS NULL;
SELECT name, restriction, done FROM range_trackers WHERE name GLOB 'n?' ORDER BY name;
SELECT tracker_close(name) FROM range_trackers WHERE name GLOB 'n?';

.print '# a tracker is not a pattern'
SELECT k FROM nk WHERE tracker LIKE 'q';
SELECT k FROM nk WHERE tracker GLOB 'q*';
SELECT k FROM nk WHERE tracker >= 'q';

.print '# the tables of schemas, by all their names'
SELECT row ->> 'name' FROM byte_key_scan('temp.sqlite_master') WHERE row ->> 'name' = 'nk';
SELECT row ->> 'name' FROM byte_key_scan('temp.sqlite_schema') WHERE row ->> 'name' = 'nk';
SELECT row ->> 'name' FROM byte_key_scan('sqlite_temp_schema') WHERE row ->> 'name' = 'nk';
SELECT row ->> 'name' FROM byte_key_scan('sqlite_temp_master') WHERE row ->> 'name' = 'nk';
SELECT row ->> 'name' FROM byte_key_scan('main.sqlite_schema') WHERE row ->> 'name' = 'never';
SELECT row FROM byte_key_scan('main.sqlite_temp_master');

.print '# a table of the same name as its source, and one of too many columns'
CREATE VIRTUAL TABLE temp.never USING byte_key_scan(never);
CREATE VIRTUAL TABLE temp.never USING byte_key_scan(main.never);
SELECT hex(byte_key), u FROM temp.never;
DROP TABLE temp.never;
CREATE TABLE wide(a, b, c, d, e, f, g, h, i, j, k, l);
.limit column 14
CREATE VIRTUAL TABLE temp.w USING byte_key_scan(wide);
CREATE VIRTUAL TABLE temp.w USING byte_key_scan(wide, columns(a, c));
.limit column 2000

.print '# what narrows a scan, seen in the range of its tracker'
CREATE TABLE untyped(a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE typed(a INT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO untyped SELECT 1, value FROM counting_input(9);
INSERT INTO typed SELECT * FROM untyped;
CREATE VIRTUAL TABLE temp.scan_untyped USING byte_key_scan(untyped);
CREATE VIRTUAL TABLE temp.scan_typed USING byte_key_scan(typed);
SELECT b FROM scan_untyped WHERE tracker = 'by a and b, untyped' AND a = 1 AND b = 5;
SELECT b FROM scan_untyped WHERE tracker = 'by byte_key, untyped' AND byte_key = byte_key(1, 5);
SELECT b FROM scan_typed WHERE tracker = 'by a and b' AND a = 1 AND b = 5;
SELECT group_concat(b) FROM scan_typed WHERE tracker = 'by a row value' AND (a, b) > (1, 5);
SELECT group_concat(b) FROM scan_typed WHERE tracker = 'by byte_key' AND byte_key > byte_key(1, 5);
SELECT name, restriction FROM range_trackers WHERE name LIKE 'by %' ORDER BY name;

-- An empty text in the call means the default.
SELECT row FROM byte_key_scan('purchases', '', ' ', '') LIMIT 1;
SELECT count(*) FROM byte_key_scan('purchases', '', '', 'id > 1') WHERE restriction = '{"start":"","end":"8000000000000003"}';
