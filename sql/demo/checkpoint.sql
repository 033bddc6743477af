-- A long scan stops early: the checkpoint is what is left, as text that can be stored.
.load ./tranche
.print
.print '# A checkpoint, and a resume in another process'
.mode box
CREATE TABLE progress(job TEXT PRIMARY KEY, remaining TEXT, flights INTEGER, delay INTEGER);

CREATE VIRTUAL TABLE temp.scan USING byte_key_scan(flights);
INSERT INTO progress(job, flights, delay)
  SELECT 'nightly', count(*), sum(delay)
    FROM (SELECT delay FROM scan WHERE tracker = 'nightly' LIMIT 12345);
UPDATE progress SET remaining = tracker_checkpoint('nightly') WHERE job = 'nightly';

.print '-- first process: stopped after 12,345 flights'
SELECT * FROM progress;
