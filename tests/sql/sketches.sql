-- Sketches as aggregates, as accumulators, as other engines' bytes, and what is refused.
.load ./tranche
.mode list
.nullvalue NULL
.print --- small groups are exact
CREATE TABLE t(g, x);
INSERT INTO t VALUES ('a', 1), ('a', 2), ('a', 3), ('a', NULL), ('b', 'x'), ('b', 7), ('b', 7.0), ('c', NULL);
SELECT g, approx_quantiles(x, 3), approx_quantile(x, 0.5), approx_count_distinct(x), approx_top_count(x, 2)
  FROM t GROUP BY g;
SELECT approx_quantiles(x, 3), approx_quantile(x, 0.5), approx_count_distinct(x), approx_top_count(x, 2), histogram(x, 3)
  FROM t WHERE 0;
.print --- types
SELECT approx_quantiles(column1, 2) FROM (VALUES (9223372036854775807), (-9223372036854775808));
SELECT approx_quantiles(column1, 3) FROM (VALUES (1), (2.5), (9e999));
SELECT approx_count_distinct(column1) FROM (VALUES (1), (1.0), ('1'), (x'31'), (''), (0.0), (-0.0), (NULL));
SELECT approx_count_distinct(column1) FROM (VALUES (8830049), (8830074)); -- these two share a coupon
CREATE TABLE names(name COLLATE NOCASE);
INSERT INTO names VALUES ('Ann'), ('ann'), ('bob');
SELECT count(DISTINCT name), approx_count_distinct(name), approx_count_distinct(lower(name)),
       (SELECT value FROM group_by_fields('names', '', 'approx_count_distinct(name) AS names')) FROM names;
SELECT typeof(approx_quantile(column1, 1)) FROM (VALUES (1), (2));
SELECT json_array(approx_quantiles(column1, 2)), json_type(approx_top_count(column1, 1)) FROM (VALUES (1));
.print --- a quantile is where cume_dist() reaches q
SELECT approx_quantile(value, 0.07), approx_quantile(value, 0.28), approx_quantile(value, 0.55), approx_quantile(value, 7.0 / 100)
  FROM counting_input(101, 1);
SELECT count(*) FROM counting_input(101) AS hundredth
 WHERE (SELECT approx_quantile(value, hundredth.value / 100.0) FROM counting_input(1001, 1)) <>
       (SELECT min(value) FROM (SELECT value, cume_dist() OVER (ORDER BY value) AS reached FROM counting_input(1001, 1))
         WHERE reached >= hundredth.value / 100.0);
.print --- a hundred thousand rows: extremes are exact, the rest is near
CREATE TABLE n AS WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < 99999)
  SELECT i, i * 7919 % 100000 AS x, i % 1000 AS g FROM r;
SELECT approx_quantile(x, 0), approx_quantile(x, 1), abs(approx_quantile(x, 0.5) - 50000) < 500,
       abs(approx_count_distinct(x) - 100000) < 5000, approx_count_distinct(g) BETWEEN 960 AND 1040
  FROM n;
SELECT max(abs(value - key * 5000)) <= 500, count(*) FROM json_each((SELECT approx_quantiles(x, 21) FROM n));
.print --- accumulators: parts merge, empty ones and NULL change nothing
CREATE TABLE parts AS
  SELECT g % 10 AS part, approx_quantiles_accumulator(x, 5) AS q, approx_count_distinct_accumulator(x) AS d,
         approx_top_count_accumulator(g, 3) AS f, histogram_accumulator(x, 4) AS h
    FROM n GROUP BY 1;
INSERT INTO parts VALUES (NULL, NULL, NULL, NULL, NULL);
INSERT INTO parts SELECT 10, approx_quantiles_accumulator(x, 5), approx_count_distinct_accumulator(x),
  approx_top_count_accumulator(x, 3), histogram_accumulator(x, 4) FROM n WHERE 0;
SELECT extract_output(merge_accumulators(d)) = (SELECT approx_count_distinct(x) FROM n),
       merge_accumulators(d) = (SELECT approx_count_distinct_accumulator(x) FROM n) FROM parts;
SELECT extract_output(merge_accumulators(f)) FROM parts;
SELECT max(abs(value - key * 24999.75)) <= 600 FROM json_each((SELECT extract_output(merge_accumulators(q)) FROM parts));
SELECT extract_output(merge_accumulators(d)), extract_output(NULL) FROM parts WHERE part IS NULL;
SELECT extract_output(d), extract_output(q), extract_output(f), extract_output(h) FROM parts WHERE part = 10;
.print --- sketches
SELECT hex(sketch_of(approx_count_distinct_accumulator(i))) FROM n WHERE i < 2;
SELECT hex(sketch_of(approx_quantile_accumulator(i))) FROM n WHERE i < 1;
SELECT hex(sketch_of(approx_top_count_accumulator(x, 1))) FROM n WHERE 0;
SELECT extract_output(accumulator_of(sketch_of(d), 'approx_count_distinct')) = extract_output(d) FROM parts WHERE part = 3;
SELECT extract_output(accumulator_of(sketch_of(approx_quantile_accumulator(column1)), 'approx_quantile text'), 0.5)
  FROM (VALUES ('a'), ('b'), ('c'));
SELECT extract_output(accumulator_of(sketch_of(a), 'approx_quantiles real', 21)) = extract_output(a)
  FROM (SELECT approx_quantiles_accumulator(x / 2.0, 21) AS a FROM n);
SELECT sketch_of(NULL), accumulator_of(NULL, 'approx_quantile');
.print --- a picture
SELECT histogram(x, 5) FROM n WHERE i < 2000;
SELECT histogram(column1, 2) FROM (VALUES (-9e999), (-1), (1.5), (9e999));
SELECT histogram(CASE i WHEN 50000 THEN -1e6 WHEN 50001 THEN 1e6 ELSE x END, 5) FROM n;
.print --- what is refused
SELECT approx_quantiles(x, 1) FROM n;
SELECT approx_quantiles(x, 6401) FROM n;
SELECT approx_quantiles(x, x) FROM n;
SELECT approx_quantiles(column1, 3) FROM (VALUES (x'00'));
SELECT approx_quantile(x, 1.5) FROM n;
SELECT approx_quantile(x, NULL) FROM n;
SELECT approx_top_count(x, 0) FROM n;
SELECT approx_top_count(column1, 1) FROM (VALUES (x'00'));
SELECT histogram(x, 1) FROM n;
SELECT histogram(column1, 5) FROM (VALUES ('2001-01-01'));
SELECT approx_count_distinct(x) OVER (ORDER BY i) FROM n;
SELECT merge_accumulators(column1) FROM (SELECT approx_quantiles_accumulator(x, 3) AS column1 FROM n
  UNION ALL SELECT approx_quantiles_accumulator(x, 4) FROM n);
SELECT sketch_of(x'00');
SELECT sketch_of(sum_accumulator(x)) FROM n;
SELECT sketch_of(approx_quantile_accumulator(x)) FROM t;
SELECT accumulator_of(x'0201', 'approx_count_distinct');
SELECT accumulator_of(x'0201070D030C0000', 'approx_top_count');
SELECT accumulator_of(x'0201070D030C0000', 'approx_quantiles');
SELECT accumulator_of(x'0201070D030C0000', 'approx_quantile');
SELECT accumulator_of('text', 'approx_quantile');
SELECT accumulator_of(x'', 'approx_quantile', 3);
SELECT accumulator_of(x'', 'approx_quantiles', 1);
