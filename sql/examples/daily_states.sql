-- Aggregates once a day, into a table of BLOBs; any period later, from the BLOBs alone.
.load ./tranche
.read sql/demo/load.sql
.mode box

CREATE TABLE daily AS
  SELECT date(date) AS day, mean_accumulator(delay) AS delay, top_largest_accumulator(delay, 3) AS worst
    FROM flights GROUP BY day;

SELECT strftime('%Y-%m', day) AS month, count(*) AS days,
       round(extract_output(merge_accumulators(delay)), 6) AS mean_delay,
       extract_output(merge_accumulators(worst)) AS worst
  FROM daily GROUP BY month;

-- The same from the rows.
SELECT strftime('%Y-%m', date) AS month, count(DISTINCT date(date)) AS days, round(avg(delay), 6) AS mean_delay,
       top_largest(delay, 3) AS worst
  FROM flights GROUP BY month;
