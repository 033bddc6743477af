.load ./tranche
-- Combine functions as aggregates: results, types, NULLs, clauses, and what is refused.
.nullvalue NULL
CREATE TABLE p(country TEXT, name TEXT, cost, at INTEGER);
INSERT INTO p VALUES
  ('NZ', 'ada', 12.5, 1), ('NZ', 'bob', 3, 2), ('NZ', 'cyd', NULL, 3), ('NZ', NULL, 40, 4),
  ('CH', 'dan', 40, 1), ('CH', 'eve', 40.0, 2), ('CH', 'fay', 'seven', 3), ('CH', 'gus', '7', 4),
  ('IS', 'hal', NULL, 1), ('IS', 'ida', NULL, NULL);

.print --- plain
SELECT country, mean(cost), var_pop(cost), round(stddev_samp(cost), 9) FROM p GROUP BY country;
SELECT country, top_largest(cost, 3), top_smallest(cost, 2), any_value(cost) FROM p GROUP BY country;
SELECT country, max_by(name, cost), min_by(name, cost), max_by(name, cost, 2), latest(cost, at) FROM p GROUP BY country;
SELECT bit_and(at), bit_or(at), bit_xor(at) FROM p;
SELECT bit_or(value) FROM json_each('[1.9, -9e999]');

.print --- types are as SQLite's sum has them
SELECT typeof(extract_output(sum_accumulator(x))), extract_output(sum_accumulator(x)) FROM (SELECT 1 AS x UNION ALL SELECT '2');
SELECT typeof(extract_output(sum_accumulator(x))), extract_output(sum_accumulator(x)) FROM (SELECT 1 AS x UNION ALL SELECT '2x');
SELECT typeof(extract_output(sum_accumulator(x))), extract_output(sum_accumulator(x)) FROM (SELECT 1 AS x UNION ALL SELECT x'3132');
SELECT typeof(sum(x)), sum(x) FROM (SELECT 1 AS x UNION ALL SELECT x'3132');
SELECT mean('abc'), mean(x'31'), bit_or('6.9');

.print --- no rows, only NULLs
SELECT mean(cost), var_pop(cost), var_samp(cost), stddev_pop(cost), bit_and(cost), any_value(cost), latest(cost, at),
       max_by(name, cost), max_by(name, cost, 3), top_largest(cost, 3), sample(cost, 3) FROM p WHERE 0;
SELECT mean(cost), var_pop(cost), var_samp(cost), stddev_pop(cost), bit_and(cost), any_value(cost), latest(cost, at),
       max_by(name, cost), max_by(name, cost, 3), top_largest(cost, 3), sample(cost, 3) FROM p WHERE country = 'IS';
SELECT var_pop(7), var_samp(7), stddev_pop(7), stddev_samp(7);

.print --- infinities
SELECT mean(value), var_pop(value) FROM json_each('[1, 9e999]');
SELECT mean(value), extract_output(sum_accumulator(value)) FROM json_each('[9e999, -9e999]');
SELECT top_largest(value, 2), top_smallest(value, 1) FROM json_each('[1, 9e999, -9e999]');

.print --- exact
SELECT mean(value) FROM json_each('[1e16, 1, -1e16]');
SELECT var_pop(value), var_samp(value) FROM json_each('[5.4, 5.4, 5.4]');
SELECT extract_output(sum_accumulator(value)) FROM json_each('[9223372036854775807, 1, -1]');
SELECT extract_output(sum_accumulator(value)) FROM json_each('[9223372036854775807, 1]');
SELECT extract_output(sum_accumulator(value)) FROM json_each('[9223372036854775807, 1, 0.0]');

.print --- ties
SELECT max_by(name, 1), min_by(name, 1), max_by(name, 1, 3), latest(name, 1) FROM p;
CREATE TABLE ties AS SELECT 4.0 AS v, 0 AS k UNION ALL SELECT 4, 0.0 UNION ALL SELECT 4, 0;
SELECT typeof(min_by(v, k)), typeof(max_by(v, k)), typeof(latest(v, k)), min_by(v, k, 3), max_by(v, k, 3) FROM ties;
SELECT min_by_accumulator(v, k, 2) = (SELECT min_by_accumulator(v, k, 2) FROM (SELECT * FROM ties ORDER BY rowid DESC))
  FROM ties;
SELECT extract_output(merge_accumulators(a)) FROM (SELECT min_by_accumulator(v, k) AS a FROM ties GROUP BY rowid);
SELECT top_largest(value, 4), top_smallest(value, 4) FROM json_each('[1.0, 1, 0, -0.0]');

.print --- JSON
SELECT json_array(top_largest(at, 2), max_by(name, at, 1)) FROM p;
SELECT top_smallest(x, 9) FROM (SELECT 'a "quoted"' || char(10) || '\ text' AS x UNION ALL SELECT 'žluťoučký 北京 😀' UNION ALL
  SELECT 0.1 UNION ALL SELECT 1e300 UNION ALL SELECT -5e-324 UNION ALL SELECT 9007199254740993 UNION ALL SELECT 100000.0);
SELECT j.value = x.value FROM (SELECT top_largest(value, 9) AS a FROM json_each('[0.1, 1e300, 2.2250738585072014e-308, 1e22]')) AS l,
  json_each(l.a) AS j, json_each('[1e300, 1e22, 0.1, 2.2250738585072014e-308]') AS x WHERE j.key = x.key;
SELECT top_largest(x'00', 1);
SELECT top_largest(hex(x'00'), 1);

.print --- clauses
SELECT top_largest(cost, 2) FILTER (WHERE country = 'NZ'), mean(cost) FILTER (WHERE country = 'nowhere') FROM p;
SELECT mean(DISTINCT at), var_pop(DISTINCT at), bit_xor(DISTINCT at) FROM p;
SELECT country FROM p GROUP BY country HAVING max_by(name, at) > 'f' ORDER BY mean(cost) DESC;
SELECT top_largest(cost, 1), top_largest(cost, 1 + 1), top_largest(cost, 2.0) FROM p WHERE country = 'NZ';
CREATE VIEW best AS SELECT country, top_largest(cost, 2) AS top FROM p GROUP BY country;
SELECT * FROM best;
CREATE TABLE log(mean_cost, top);
CREATE TRIGGER note AFTER INSERT ON p BEGIN
  INSERT INTO log SELECT mean(cost), top_largest(cost, 1) FROM p WHERE country = NEW.country;
END;
INSERT INTO p VALUES ('IS', 'jon', 5, 2);
SELECT * FROM log;
PRAGMA trusted_schema = OFF;
SELECT count(*) FROM best;

.print --- windows
SELECT at, mean(cost) OVER w, round(var_samp(cost) OVER w, 6), bit_xor(at) OVER w, hex(count_accumulator(cost) OVER w)
  FROM p WHERE country = 'NZ' WINDOW w AS (ORDER BY at ROWS 1 PRECEDING);
SELECT value, mean(value) OVER (ORDER BY key ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM json_each('[1e16, 1, -1e16, 3]');
SELECT mean(value) OVER (ORDER BY key ROWS 1 PRECEDING) FROM json_each('[1, 9e999, 2, 3, -9e999, 4]');
SELECT top_largest(cost, 1) OVER (ORDER BY at) FROM p;
SELECT max_by(cost, at) OVER (ORDER BY at) FROM p;
SELECT any_value_accumulator(cost) OVER (ORDER BY at) FROM p;
SELECT name || '/' || narg, type FROM pragma_function_list
 WHERE name IN ('mean', 'var_pop', 'bit_xor', 'bit_and', 'top_largest', 'max_by', 'sample', 'sum_accumulator', 'min_accumulator') ORDER BY 1;

.print --- refused
SELECT top_largest(cost, -1) FROM p;
SELECT top_largest(cost, NULL) FROM p;
SELECT top_largest(cost, '2') FROM p;
SELECT top_largest(cost, 1.5) FROM p;
SELECT top_largest(cost, x'02') FROM p;
SELECT top_largest(cost, at) FROM p;
SELECT max_by(name, cost, at) FROM p;
SELECT sample(cost, at) FROM p;
SELECT top_largest(cost) FROM p;
SELECT mean(cost, 1) FROM p;
SELECT max_by(cost) FROM p;
