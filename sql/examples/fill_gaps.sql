-- A report with a line for every hour, also for those in which nothing happened.
.load ./tranche
.read sql/demo/load.sql
.mode box

SELECT format('%02d:00', value) AS hour, count(id) AS flights, round(avg(delay)) AS mean_delay
  FROM counting_input(24)
  LEFT JOIN flights ON origin = 'MIA' AND CAST(strftime('%H', date) AS INTEGER) = value
 GROUP BY value;
