.load ./tranche
-- Accumulators: stored, merged, extracted; what happens where there is nothing; what is refused.
.nullvalue NULL
CREATE TABLE sales(day TEXT, shop TEXT, cost, at INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
INSERT INTO sales SELECT 'day' || (i % 7), 'shop' || (i % 3), i * 7919 % 1000 / 8.0, i FROM n;

.print --- a month from days
CREATE TABLE days AS SELECT day, shop, count_accumulator(cost) AS n, sum_accumulator(cost) AS s, min_accumulator(cost) AS lo,
  max_accumulator(cost) AS hi, mean_accumulator(cost) AS m, var_pop_accumulator(cost) AS vp, var_samp_accumulator(cost) AS vs,
  stddev_pop_accumulator(cost) AS dp, stddev_samp_accumulator(cost) AS ds, bit_and_accumulator(at) AS ba,
  bit_or_accumulator(at) AS bo, bit_xor_accumulator(at) AS bx, top_largest_accumulator(cost, 3) AS tl,
  top_smallest_accumulator(cost, 3) AS ts, max_by_accumulator(at, cost) AS mx, min_by_accumulator(at, cost, 2) AS mn,
  latest_accumulator(cost, at) AS l, any_value_accumulator(shop) AS a, sample_accumulator(at, 4, at) AS sa
  FROM sales GROUP BY day, shop;
CREATE TABLE merged AS SELECT shop, merge_accumulators(n) AS n, merge_accumulators(s) AS s, merge_accumulators(lo) AS lo,
  merge_accumulators(hi) AS hi, merge_accumulators(m) AS m, merge_accumulators(vp) AS vp, merge_accumulators(vs) AS vs,
  merge_accumulators(dp) AS dp, merge_accumulators(ds) AS ds, merge_accumulators(ba) AS ba, merge_accumulators(bo) AS bo,
  merge_accumulators(bx) AS bx, merge_accumulators(tl) AS tl, merge_accumulators(ts) AS ts, merge_accumulators(mx) AS mx,
  merge_accumulators(mn) AS mn, merge_accumulators(l) AS l, merge_accumulators(a) AS a, merge_accumulators(sa) AS sa
  FROM days GROUP BY shop;
SELECT shop, extract_output(n), extract_output(s), extract_output(lo), extract_output(hi), extract_output(m), extract_output(vp),
  extract_output(vs), extract_output(dp), extract_output(ds), extract_output(ba), extract_output(bo), extract_output(bx),
  extract_output(tl), extract_output(ts), extract_output(mx), extract_output(mn), extract_output(l), extract_output(a),
  extract_output(sa) FROM merged
EXCEPT
SELECT shop, count(cost), sum(cost), min(cost), max(cost), mean(cost), var_pop(cost), var_samp(cost), stddev_pop(cost),
  stddev_samp(cost), bit_and(at), bit_or(at), bit_xor(at), top_largest(cost, 3), top_smallest(cost, 3), max_by(at, cost),
  min_by(at, cost, 2), latest(cost, at), any_value(shop), sample(at, 4, at) FROM sales GROUP BY shop;
SELECT shop, extract_output(n), extract_output(s), extract_output(tl), extract_output(l) FROM merged;
.print --- equal to the byte, whatever the order and the cut
SELECT count(DISTINCT s), count(DISTINCT vp), count(DISTINCT sa) FROM (
  SELECT sum_accumulator(cost) AS s, var_pop_accumulator(cost) AS vp, sample_accumulator(at, 4, at) AS sa FROM sales
  UNION ALL SELECT sum_accumulator(cost), var_pop_accumulator(cost), sample_accumulator(at, 4, at)
    FROM (SELECT * FROM sales ORDER BY cost DESC)
  UNION ALL SELECT merge_accumulators(s), merge_accumulators(vp), merge_accumulators(sa) FROM days
  UNION ALL SELECT merge_accumulators(s), merge_accumulators(vp), merge_accumulators(sa) FROM merged);

.print --- nothing
SELECT merge_accumulators(s) FROM days WHERE 0;
SELECT merge_accumulators(NULL) FROM days;
SELECT extract_output(NULL), extract_output(NULL, 1), describe_accumulator(NULL);
SELECT extract_output(count_accumulator(cost)), extract_output(count_accumulator()), extract_output(sum_accumulator(cost)),
  extract_output(var_pop_accumulator(cost)), extract_output(top_largest_accumulator(cost, 3)),
  extract_output(max_by_accumulator(cost, at)), extract_output(max_by_accumulator(cost, at, 2)),
  extract_output(sample_accumulator(cost, 3)) FROM sales WHERE 0;
SELECT hex(s), extract_output(s) FROM (SELECT sum_accumulator(NULL) AS s);
SELECT extract_output(merge_accumulators(s)) FROM (SELECT NULL AS s UNION ALL SELECT sum_accumulator(cost) FROM sales WHERE 0
  UNION ALL SELECT s FROM days WHERE shop = 'shop1' UNION ALL SELECT NULL);
-- An accumulator over no rows does not know its n, one over NULLs does.
SELECT describe_accumulator(top_smallest_accumulator(cost, 3)) FROM sales WHERE 0;
SELECT describe_accumulator(top_smallest_accumulator(NULL, 3)) FROM sales;
SELECT extract_output(merge_accumulators(s)), describe_accumulator(merge_accumulators(s)) FROM (
  SELECT top_smallest_accumulator(cost, 3) AS s FROM sales WHERE 0 UNION ALL SELECT top_smallest_accumulator(cost, 2) FROM sales
  UNION ALL SELECT top_smallest_accumulator(cost, 9) FROM sales WHERE 0);

.print --- a CASE does not keep an aggregate from its rows
SELECT CASE WHEN 0 THEN top_largest(cost, at) ELSE 'not asked' END FROM sales;
SELECT CASE WHEN 1 THEN 'not asked' ELSE mean(cost) END FROM sales;

.print --- nested in JSON
SELECT json_object('top', extract_output(tl)) FROM merged ORDER BY shop LIMIT 1;

.print --- refused
SELECT extract_output(x'');
SELECT extract_output('FE545241');
SELECT extract_output(7);
SELECT extract_output(zeroblob(100));
SELECT extract_output(substr(s, 1, length(s) - 1)) FROM merged LIMIT 1;
SELECT extract_output(CAST(s || x'00' AS BLOB)) FROM merged LIMIT 1;
SELECT extract_output(x'FE54524101010105FFFFFFFF');
SELECT extract_output(n, 2) FROM merged LIMIT 1;
SELECT describe_accumulator(substr(s, 1, 6)) FROM merged LIMIT 1;
SELECT merge_accumulators(x) FROM (SELECT n AS x FROM merged UNION ALL SELECT s FROM merged);
SELECT merge_accumulators(x) FROM (SELECT mx AS x FROM merged UNION ALL SELECT max_by_accumulator(at, cost, 1) FROM sales);
SELECT merge_accumulators(x) FROM (SELECT vp AS x FROM merged UNION ALL SELECT vs FROM merged);
SELECT merge_accumulators('text');
SELECT merge_accumulators(s) OVER (ORDER BY day) FROM days;
