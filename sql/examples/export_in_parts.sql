-- Hands a table out in four equal parts, for four processes. A part is one line of text.
.load ./tranche
.read sql/demo/load.sql
.mode box

CREATE TABLE parts AS SELECT ordinal, restriction, rows FROM scan_splits('flights', 4);
SELECT * FROM parts;

-- What the process with part 2 does. Its output could as well be a file: `.once part2.csv`.
CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(flights);
SELECT count(*) AS flights, min(id), max(id) FROM scan WHERE restriction = (SELECT restriction FROM parts WHERE ordinal = 2);
