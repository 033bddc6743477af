-- Another process goes on from what checkpoint.sql stored.
.load ./tranche
.mode box
CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(flights);
UPDATE progress SET (flights, delay, remaining) = (
  SELECT progress.flights + count(*), progress.delay + sum(delay), NULL
    FROM scan WHERE restriction = progress.remaining);

.print '-- second process: the rest'
SELECT job, flights, delay FROM progress
UNION ALL
SELECT 'in one go', count(*), sum(delay) FROM flights;
DROP TABLE progress;
