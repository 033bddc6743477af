-- Two connections share one scan of the flights. Every row is claimed from a tracker before it is
-- emitted, so the second worker can take away what the first has not claimed yet.
.load ./tranche
.print
.print '# Two workers share one running scan'

CREATE TABLE seen(worker TEXT, id INTEGER);
CREATE TABLE handed_over(restriction TEXT);

.print
.print '-- worker 1 reads 5,000 flights and is not done'
CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(flights);
INSERT INTO seen SELECT 'worker 1', id FROM scan
 WHERE tracker = 'shared:flights' LIMIT 5000;
.mode box
SELECT name, restriction, hex(last_claimed) AS last_claimed, round(fraction_consumed, 2) AS consumed FROM range_trackers;

.print '-- worker 2, in a connection of its own, takes half of what remains and reads it'
.connection 1
.open build/demo/flights.db
.load ./tranche
CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(flights);
INSERT INTO handed_over SELECT tracker_try_split('shared:flights', 0.5);
.mode list
SELECT 'handed over: ' || restriction FROM handed_over;
INSERT INTO seen SELECT 'worker 2', id FROM scan
 WHERE tracker = 'shared:second half' AND restriction = (SELECT restriction FROM handed_over);

.print '-- worker 1 goes on, and ends where worker 2 began'
.connection 0
INSERT INTO seen SELECT 'worker 1', id FROM scan WHERE tracker = 'shared:flights';
.mode box
SELECT worker, count(*) AS flights, min(id) AS first, max(id) AS last FROM seen GROUP BY worker
UNION ALL
SELECT 'both', count(*), min(id), max(id) FROM seen
UNION ALL
SELECT 'flights', count(*), min(id), max(id) FROM flights;
.mode list
SELECT CASE WHEN count(*) = count(DISTINCT id) AND count(*) = (SELECT count(*) FROM flights)
             AND tracker_check_done('shared:flights')
            THEN 'Every flight was read once, and worker 1 has claimed all that it kept.' ELSE 'WRONG' END
  FROM seen;

DROP TABLE seen;
DROP TABLE handed_over;
