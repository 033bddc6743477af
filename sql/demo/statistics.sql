-- group_by_fields beside SQLite's own GROUP BY: the same numbers for every airport.
.load ./tranche
.print
.print '# Delays by origin: group_by_fields (left) and GROUP BY (right)'
.mode box
CREATE VIRTUAL TABLE temp.by_origin USING group_by_fields(
  flights,
  by_field_names(origin),
  count(*) AS flights,
  mean(delay) AS mean_delay,
  min(delay) AS min_delay,
  max(delay) AS max_delay,
  sum(distance) AS miles
);
CREATE TEMP VIEW own AS
  SELECT origin, count(*) AS flights, avg(delay) AS mean_delay, min(delay) AS min_delay,
         max(delay) AS max_delay, sum(distance) AS miles
    FROM flights GROUP BY origin;

SELECT b.origin, airports.city,
       b.flights, round(b.mean_delay, 2) AS mean, b.max_delay AS max, b.miles,
       own.flights AS "flights ", round(own.mean_delay, 2) AS "mean ", own.max_delay AS "max ", own.miles AS "miles "
  FROM by_origin AS b JOIN own USING (origin) JOIN airports ON iata = origin
 ORDER BY b.flights DESC LIMIT 8;
.mode list
SELECT format('%d airports, %d differences', (SELECT count(*) FROM by_origin),
              (SELECT count(*) FROM (SELECT * FROM by_origin EXCEPT SELECT * FROM own)) +
              (SELECT count(*) FROM (SELECT * FROM own EXCEPT SELECT * FROM by_origin)));
