.load ./tranche
-- Text that spells a number counts as one exactly where SQLite's own sum() and comparisons take it for one.
CREATE TABLE n(x);
INSERT INTO n VALUES ('1'), (' 12 '), ('1.0'), ('1e3'), ('9223372036854775807'), ('9223372036854775808'),
  ('-9223372036854775808'), ('-9223372036854775809'), ('+5'), ('.5'), ('5.'), ('.'), ('1e'), ('1x'), (''), ('0x10'),
  (char(9) || '7' || char(10)), ('00012'), ('1_0'), ('inf'), ('-0'), ('1e+'), ('- 1'), ('1 2'), (char(11) || '3'),
  (CAST(x'3100' AS TEXT)), (CAST(x'31200020' AS TEXT)), (CAST(x'310061' AS TEXT)), (CAST(x'003100' AS TEXT));
CREATE TABLE own AS SELECT x, sum(x) AS s FROM n GROUP BY x;
CREATE TABLE states AS SELECT x, extract_output(sum_accumulator(x)) AS s FROM n GROUP BY x;
CREATE VIRTUAL TABLE temp.groups USING group_by_fields(n, by_field_names(x), sum(x) AS s);
SELECT count(*) FROM own;
SELECT 'accumulator', own.x, own.s, states.s FROM own JOIN states USING (x)
 WHERE own.s IS NOT states.s OR typeof(own.s) <> typeof(states.s);
SELECT 'group_by_fields', own.x, own.s, groups.s FROM own JOIN groups USING (x)
 WHERE own.s IS NOT groups.s OR typeof(own.s) <> typeof(groups.s);

-- The same in terms, and in lists, whose values belong to no connection.
CREATE TABLE k(a INTEGER PRIMARY KEY, b NUMERIC UNIQUE);
INSERT INTO k SELECT value, value * 0.5 FROM counting_input(20);
CREATE VIRTUAL TABLE temp.by_a USING byte_key_scan(k);
CREATE VIRTUAL TABLE temp.by_b USING byte_key_scan(k, key(b));
SELECT group_concat(a) FROM by_a WHERE a IN ('3', ' 4 ', '5.0', '6e0', '7x', x'38', '0x9', NULL);
SELECT group_concat(a) FROM k WHERE a IN ('3', ' 4 ', '5.0', '6e0', '7x', x'38', '0x9', NULL);
SELECT group_concat(b) FROM by_b WHERE b IN ('1', '2.5', '.5', '1e1', 'x', '3 x');
SELECT group_concat(b) FROM k WHERE b IN ('1', '2.5', '.5', '1e1', 'x', '3 x');
SELECT group_concat(b) FROM by_b WHERE b > '8.0' AND b < ' 9.5';
SELECT group_concat(value) FROM counting_input(20) WHERE value IN ('3', ' 4 ', '5.0', '7x', '1e1');
SELECT group_concat(value) FROM counting_input(20) WHERE value > '15' AND value < '17.5';

-- Whether a zero byte ends a number or spoils it, SQLite has changed.
SELECT (SELECT count(*) FROM by_a WHERE a = v) = (SELECT count(*) FROM k WHERE a = v) AS equal,
       (SELECT count(*) FROM by_a WHERE a > v) = (SELECT count(*) FROM k WHERE a > v) AS above,
       (SELECT count(*) FROM by_b WHERE b < v) = (SELECT count(*) FROM k WHERE b < v) AS below,
       (SELECT count(*) FROM counting_input(20) WHERE value < v) = (SELECT count(*) FROM k WHERE a < v) AS counted
  FROM (SELECT CAST(x'3300' AS TEXT) AS v UNION ALL SELECT CAST(x'330034' AS TEXT) UNION ALL SELECT CAST(x'33200020' AS TEXT));

-- Text out of a numeric column: beside it, what spells a number in a TEXT column is one, and below all text.
CREATE TABLE texts(k TEXT PRIMARY KEY, d TEXT COLLATE NOCASE) WITHOUT ROWID;
INSERT INTO texts VALUES ('', ''), (' 2', '30'), ('-1e3', 'Abc'), ('3x', ':'), ('30', '3x'), ('9', 'abd'), ('abc', '-.5'), ('b', '9');
CREATE TABLE numbers(n INTEGER);
INSERT INTO numbers VALUES ('abc'), (''), ('3x'), (5), (NULL), (x'00');
CREATE VIRTUAL TABLE temp.of_texts USING byte_key_scan(texts);
CREATE TEMP VIEW own_pairs AS
  SELECT 'k<' AS how, k, n FROM numbers CROSS JOIN texts WHERE k < n UNION ALL SELECT 'k<=', k, n FROM numbers CROSS JOIN texts WHERE k <= n
  UNION ALL SELECT 'k>', k, n FROM numbers CROSS JOIN texts WHERE k > n UNION ALL SELECT 'd<', k, n FROM numbers CROSS JOIN texts WHERE d < n
  UNION ALL SELECT 'k=', k, n FROM numbers CROSS JOIN texts WHERE k = n;
CREATE TEMP VIEW scan_pairs AS
  SELECT 'k<' AS how, k, n FROM numbers CROSS JOIN of_texts WHERE k < n UNION ALL SELECT 'k<=', k, n FROM numbers CROSS JOIN of_texts WHERE k <= n
  UNION ALL SELECT 'k>', k, n FROM numbers CROSS JOIN of_texts WHERE k > n UNION ALL SELECT 'd<', k, n FROM numbers CROSS JOIN of_texts WHERE d < n
  UNION ALL SELECT 'k=', k, n FROM numbers CROSS JOIN of_texts WHERE k = n;
SELECT how, count(*) FROM own_pairs GROUP BY how;
SELECT * FROM own_pairs EXCEPT SELECT * FROM scan_pairs;
SELECT * FROM scan_pairs EXCEPT SELECT * FROM own_pairs;
