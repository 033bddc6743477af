.load ./tranche
.nullvalue NULL
-- A job from its creation to its end, as a person would try it in the shell.
.bail off
CREATE TABLE events(id INTEGER PRIMARY KEY, kind TEXT);
INSERT INTO events SELECT value + 1, CASE value % 5 WHEN 0 THEN 'click' ELSE 'view' END FROM counting_input(1000);
CREATE TABLE out(id INTEGER PRIMARY KEY, worker TEXT);

-- Only clicks are wanted; bundles are cut by keys all the same.
CREATE VIRTUAL TABLE backfill USING scan_job(events, key(id), columns(id, kind AS what), where(kind = 'click'),
                                             max_attempts(2));
SELECT pending, claimed, done, failed, fraction, rows, remaining, rate, eta, bar FROM job_progress('backfill');

-- Three workers. (A claim in a statement that writes may be undone with it, and has a number that never comes again.)
CREATE TEMP TABLE mine(worker TEXT, bundle TEXT);
INSERT INTO mine SELECT 'w' || value, job_claim('backfill', 'w' || value, 300) FROM counting_input(3);
SELECT worker, json_remove(bundle, '$.claim') FROM mine;
SELECT pending, claimed, done, failed FROM job_progress('backfill');
SELECT worker, count(*), min(id), max(id), min(what) FROM mine, backfill WHERE restriction = bundle GROUP BY worker;

-- w0 is done, w1 changes its mind, w2 fails.
BEGIN IMMEDIATE;
INSERT INTO out SELECT id, 'w0' FROM backfill WHERE restriction = (SELECT bundle FROM mine WHERE worker = 'w0');
SELECT job_done('backfill', bundle) FROM mine WHERE worker = 'w0';
COMMIT;
SELECT job_release('backfill', bundle) FROM mine WHERE worker = 'w1';
SELECT job_fail('backfill', bundle, 'no network') FROM mine WHERE worker = 'w2';
SELECT job_done('backfill', json_remove(bundle, '$.claim')) FROM mine WHERE worker = 'w0';
SELECT job_done('backfill', json_remove(bundle, '$.claim')) FROM mine WHERE worker = 'w1';
SELECT state, keys, claims, failures, worker, message, byte_key_range(start_key, end_key) AS bundle
  FROM backfill_bundles ORDER BY start_key;

-- The rest of the table first, then what came back.
DELETE FROM mine;
INSERT INTO mine SELECT 'w9', job_claim('backfill', 'w9', 1000) FROM counting_input(4);
SELECT worker, json_remove(bundle, '$.claim') FROM mine;
SELECT job_heartbeat('backfill', bundle, 120) FROM mine WHERE bundle NOT NULL;
BEGIN IMMEDIATE;
INSERT INTO out SELECT id, 'w9' FROM mine, backfill WHERE restriction = bundle;
SELECT job_done('backfill', bundle) FROM mine WHERE bundle NOT NULL;
COMMIT;
SELECT pending, claimed, done, failed, fraction, rows, remaining, bar FROM job_progress('backfill');
SELECT count(*), count(DISTINCT id) FROM out;
SELECT * FROM out EXCEPT SELECT id, worker FROM out JOIN events USING (id) WHERE kind = 'click';

-- What the claims cost: one walk over the key.
EXPLAIN QUERY PLAN SELECT * FROM backfill WHERE restriction = '{"start":"","end":""}' AND id > 5;

-- Refusals.
SELECT job_claim('backfill');
SELECT job_claim('backfill', 5);
SELECT job_claim('backfill', 'w', -1);
SELECT job_claim('backfill', 'w', 1, -1);
SELECT job_claim('backfill', 'w', 1, 'long');
SELECT job_done('backfill');
SELECT job_done('backfill', 'everything');
SELECT job_done('backfill', '{"from":0,"to":5}');
SELECT job_fail('backfill', '{"start":"","end":""}');
SELECT job_retry('backfill', '{"start":"","end":"00"}');
SELECT * FROM job_progress;
SELECT * FROM job_progress('events');
CREATE VIRTUAL TABLE twice USING scan_job(events, max_attempts(1), max_attempts(2));
CREATE VIRTUAL TABLE again USING scan_job(backfill);

DROP TABLE backfill;
SELECT name FROM sqlite_schema ORDER BY name;
