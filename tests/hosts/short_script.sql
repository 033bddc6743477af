SELECT sqlite_version();
SELECT group_concat(value) FROM (SELECT value FROM counting_input(5));
CREATE TABLE t(a INTEGER PRIMARY KEY, b);
INSERT INTO t SELECT value, value % 3 FROM counting_input(300);
CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);
SELECT count(*), sum(a) FROM s WHERE a >= 10;
SELECT tracker_open('w', offset_range(0, 10)), tracker_try_claim('w', 3), tracker_try_split('w', 0.5);
CREATE VIRTUAL TABLE temp.g USING group_by_fields(t, by_field_names(b), count(*) AS n, sum(a) AS total);
SELECT b, n, total FROM g ORDER BY b;
