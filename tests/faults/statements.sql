--- set-up
CREATE TABLE t(a, b TEXT, c REAL);
INSERT INTO t VALUES (1, 'x', 0.5), (2, 'y', 1.5), (2, NULL, 2.5), (NULL, 'a longer text than others', -1e300);
CREATE TABLE w(p, q, PRIMARY KEY (p, q)) WITHOUT ROWID;
INSERT INTO w VALUES (1, 'one'), (1, 'two'), (2, x'00ff');
--- about
SELECT tranche_version(), tranche_debug();
--- restrictions
SELECT byte_key_range(x'6b31', x'6b39'), offset_range(-5, 100);
SELECT range_contains('{"start":"6b31","end":""}', x'6b32'), range_fraction('{"from":0,"to":100}', 30);
SELECT hex(range_interpolate('{"start":"00","end":"6b39"}', 0.3)), range_interpolate('{"from":0,"to":100}', 0.3);
SELECT ordinal, restriction FROM range_split('{"start":"00","end":"6b39"}', 5);
SELECT ordinal, restriction FROM range_split('{"from":0,"to":1000}', 7) WHERE ordinal > 2;
--- private tracker
-- once
SELECT tracker_open('one', byte_key_range(x'10', x'f0'));
SELECT tracker_try_claim('one', x'11'), tracker_try_claim('one', x'1234567890');
SELECT tracker_try_split('one', 0.5), tracker_size('one'), tracker_fraction_consumed('one');
SELECT tracker_current_restriction('one'), tracker_to_string('one');
SELECT * FROM range_trackers;
SELECT tracker_checkpoint('one'), tracker_check_done('one');
SELECT tracker_close('one');
--- shared tracker
-- once
SELECT tracker_open('shared:one', offset_range(0, 100));
SELECT tracker_try_claim('shared:one', 10), tracker_try_split('shared:one', 0.5);
SELECT * FROM range_trackers WHERE name = 'shared:one';
SELECT tracker_checkpoint('shared:one'), tracker_check_done('shared:one');
--- trackers that stay open
-- once
SELECT tracker_open('shared:left', offset_range(0, 100)), tracker_open('left', byte_key_range(x'', x''));
--- exact aggregates
SELECT mean(c), var_pop(c), var_samp(a), stddev_pop(c), stddev_samp(a), bit_and(a), bit_or(a), bit_xor(a) FROM t;
SELECT a, mean(c), top_largest(b, 2) FROM t GROUP BY a;
SELECT mean(c) OVER (ORDER BY rowid ROWS 1 PRECEDING) FROM t;
--- aggregates that hold values
SELECT top_largest(b, 2), top_smallest(b, 2), max_by(b, c), min_by(b, c, 2), latest(b, a), any_value(b) FROM t;
SELECT sample(b, 9) IS NOT NULL, sample(b, 2, rowid), top_largest(a, 3), top_smallest(c, 0) FROM t;
--- approximate aggregates
SELECT approx_quantiles(c, 5), approx_quantile(c, 0.5), approx_count_distinct(b), approx_quantiles(b, 3) FROM t;
--- accumulators
CREATE TEMP TABLE states AS
  SELECT a, sum_accumulator(c) AS s, top_largest_accumulator(b, 2) AS t, approx_quantiles_accumulator(c, 5) AS q,
         approx_count_distinct_accumulator(b) AS d, max_by_accumulator(b, c) AS m, sample_accumulator(b, 2, rowid) AS r
    FROM t GROUP BY a;
SELECT extract_output(merge_accumulators(s)), extract_output(merge_accumulators(t)), extract_output(merge_accumulators(q)),
       extract_output(merge_accumulators(d)), extract_output(merge_accumulators(m)), extract_output(merge_accumulators(r)) FROM states;
SELECT describe_accumulator(s), describe_accumulator(t), describe_accumulator(q) FROM states;
--- group by fields
CREATE VIRTUAL TABLE temp.g USING group_by_fields(t, by_field_names(a, b), sum(c) AS s, count(*) AS n, min(b), where(c > 0));
SELECT * FROM g;
SELECT a, s FROM g WHERE a IN (1, 2) AND b > 'a';
CREATE VIRTUAL TABLE temp.h USING group_by_fields(w, globally(), sample(p, 2) AS x, emit(accumulators));
SELECT extract_output(x) FROM h;
--- group by fields, paths and filters
CREATE VIRTUAL TABLE temp.p USING group_by_fields(t, by_field_access(b.x, 'b{}.y[].z'), count(*) FILTER (WHERE a > 0) AS n, where(json_valid(b)));
SELECT * FROM p WHERE x = 1 OR x IS NULL;
--- group by fields, a view
CREATE TEMP VIEW tv AS SELECT a, b COLLATE NOCASE AS b FROM t;
SELECT key, value FROM group_by_fields('tv', 'b', 'mean(a) AS m, max_by(b, a) AS x');
--- group by fields, ad hoc
SELECT key, value FROM group_by_fields('t', 'a, b COLLATE NOCASE AS bb', 'top_largest(c, 2) AS top');
SELECT key, value FROM group_by_fields('t', 'a');
--- group by fields, on threads
CREATE TABLE many(id INTEGER PRIMARY KEY, g);
INSERT INTO many SELECT value, value % 7 FROM counting_input(400);
-- from here on
CREATE VIRTUAL TABLE temp.g USING group_by_fields(many, by_field_names(g), count(*) AS n, sum(id) AS s, workers(3));
SELECT * FROM g;
SELECT reason FROM tranche_last_run();
--- counting_input
-- once
SELECT value, timestamp FROM counting_input(20, 3, 2) WHERE timestamp_expr = 'value * 7' AND value > 5 ORDER BY value DESC LIMIT 3;
SELECT value FROM counting_input(50) WHERE value IN (4, 99, 7) OR value > 47;
SELECT value FROM counting_input(50) WHERE tracker = 'count' LIMIT 10;
SELECT tracker_try_split('count', 0.5);
SELECT count(*), max(value) FROM counting_input(50) WHERE tracker = 'count';
SELECT b, value FROM t LEFT JOIN counting_input(2) ON value = a;
--- counting_input, its list and limits
SELECT value, timestamp_expr, up_to, start, step, period FROM counting_input(100, 10, 5) WHERE value BETWEEN 20 AND '40.0' ORDER BY value DESC;
SELECT value FROM counting_input WHERE value IN (3, 5, '7', 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39);
SELECT value FROM counting_input WHERE rate = 1000 AND max_records = 5 AND restriction = offset_range(3, 100);
--- counting_input under a tracker
-- once
SELECT value, tracker, restriction FROM counting_input(20) WHERE tracker = 'count' AND restriction = offset_range(5, 15) AND value > 6;
SELECT max(value) FROM counting_input(100) WHERE tracker = 'shared:count' AND max_records = 7;
SELECT tracker_close('shared:count');
--- aggregates over no rows
SELECT top_largest(b, 2), var_pop(c), mean(c), max_by(b, c), sample(b, 2) FROM t WHERE 0;
SELECT extract_output(merge_accumulators(s)) FROM (SELECT top_largest_accumulator(b, 3) AS s FROM t GROUP BY a UNION ALL SELECT top_largest_accumulator(b, 3) FROM t WHERE 0);
--- sketches
SELECT approx_quantiles(b, 3), approx_quantile(c, 0.5), approx_count_distinct(b), approx_top_count(b, 2), histogram(c, 3) FROM t;
SELECT extract_output(merge_accumulators(s)), extract_output(merge_accumulators(d)), extract_output(merge_accumulators(f)), extract_output(merge_accumulators(h))
  FROM (SELECT approx_quantiles_accumulator(b, 3) AS s, approx_count_distinct_accumulator(b) AS d, approx_top_count_accumulator(b, 2) AS f, histogram_accumulator(c, 3) AS h FROM t GROUP BY a);
SELECT extract_output(accumulator_of(sketch_of(approx_quantile_accumulator(b)), 'approx_quantile text'), 0.5), hex(sketch_of(approx_top_count_accumulator(b, 3))), hex(sketch_of(approx_count_distinct_accumulator(b))) FROM t;
SELECT approx_count_distinct(value), approx_quantiles(value, 4), approx_top_count(value, 2) FROM counting_input(1100);
--- byte_key_scan by rowid
CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, columns(rowid AS id, a, b AS name, c), where(c > -1));
SELECT id, a, name, c, hex(byte_key) FROM s WHERE id BETWEEN 1 AND 3 AND name LIKE 'x%' ORDER BY id;
SELECT id FROM s WHERE id IN (3, 1) AND name = 1;
SELECT id, tracker, restriction FROM s WHERE restriction = byte_key_range(x'80', x'8000000000000003');
--- byte_key_scan by name
-- once
CREATE VIRTUAL TABLE temp.s USING byte_key_scan(w);
SELECT p, q FROM s WHERE tracker = 'scan' LIMIT 1;
SELECT tracker_try_split('scan', 0.5) IS NOT NULL;
SELECT p, q, tracker FROM s WHERE tracker = 'scan' AND p > 0;
SELECT tracker_check_done('scan'), tracker_close('scan');
SELECT p FROM s WHERE tracker = 'shared:scan' AND restriction = byte_key_range(byte_key(1), byte_key(2));
SELECT tracker_close('shared:scan');
--- byte_key_scan by columns that may be NULL
CREATE TEMP TABLE n(k TEXT, l, UNIQUE (l, k));
INSERT INTO n VALUES (NULL, 1), (NULL, 'b'), ('', x'00'), ('a', NULL), (x'ff', 2);
CREATE VIRTUAL TABLE temp.sl USING byte_key_scan(n, key(l, k));
SELECT hex(byte_key) FROM sl WHERE restriction = byte_key_range(byte_key(NULL, 'a'), byte_key('b', x'00'));
--- byte_key_scan by a text that may be NULL
CREATE TEMP TABLE n(k TEXT UNIQUE, l);
INSERT INTO n VALUES (NULL, 1), (NULL, 'b'), ('', x'00'), ('a', NULL), (x'ff', 2);
CREATE VIRTUAL TABLE temp.s USING byte_key_scan(n, key(k));
SELECT hex(byte_key), l FROM s WHERE byte_key > x'0010' ORDER BY k;
--- byte_key_scan without a CREATE
-- once
SELECT hex(byte_key), row FROM byte_key_scan('w', 'p, q', 'q AS z', 'p > 0') WHERE byte_key > x'21';
SELECT row FROM byte_key_scan('main."t"') WHERE tracker = 'ad hoc';
--- byte_key_scan of the table that is written
CREATE TABLE grows(id INTEGER PRIMARY KEY, x);
INSERT INTO grows VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE TABLE more(k TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO more VALUES ('a'), ('b');
CREATE VIRTUAL TABLE temp.g USING byte_key_scan(grows);
CREATE VIRTUAL TABLE temp.m USING byte_key_scan(more);
-- from here on
INSERT INTO grows SELECT id + 10, x FROM g;
INSERT INTO more SELECT 'c' || k FROM m;
SELECT id, x FROM grows;
SELECT k FROM more;
--- scan_splits
SELECT ordinal, restriction, rows FROM scan_splits('t', 3);
SELECT ordinal, restriction, rows FROM scan_splits('main.w', 2, 'p, q');
--- making a job and dropping it
CREATE VIRTUAL TABLE job USING scan_job(w, key(p, q), columns(q), where(p < 9), max_attempts(1), target_seconds(5));
DROP TABLE job;
--- claims of a job
-- once
CREATE VIRTUAL TABLE job USING scan_job(w, key(p, q), columns(q), where(p < 9), target_seconds(5));
-- from here on
SELECT job_claim('job', 'w', 2, 60), job_claim('main.job', 'v', 1, 0), job_claim('job', 'u', 1, 0);
SELECT job_heartbeat('job', byte_key_range(start_key, end_key), 9) FROM job_bundles WHERE state = 'claimed';
SELECT pending, claimed, done, failed, fraction, rows FROM job_progress('job');
--- the rows of a bundle, and its end
CREATE VIRTUAL TABLE job USING scan_job(w, key(p, q));
CREATE TEMP TABLE mine AS SELECT job_claim('job', 'w', 2) AS bundle;
-- from here on
BEGIN;
SELECT q FROM job WHERE restriction = (SELECT bundle FROM mine);
SELECT job_done('job', bundle, 'w') FROM mine;
COMMIT;
--- the loop of a worker, over ranges of rowids
CREATE VIRTUAL TABLE job USING scan_job(t, target_seconds(5));
CREATE TEMP TABLE mine AS SELECT job_next('job', NULL, 'w', 2) AS bundle;
-- from here on
BEGIN;
SELECT t.rowid FROM mine, job_rowids('job', mine.bundle) AS r CROSS JOIN t ON t.rowid BETWEEN r.first AND r.last;
SELECT json_remove(job_next('job', bundle, 'w', 2, 60), '$.claim') FROM mine;
COMMIT;
--- failures of a bundle
-- once
CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1));
-- from here on
SELECT job_fail('job', job_claim('job', 'a', 3), 'why'), job_claim('job', 'b', 1, 0), job_claim('job', 'c', 9, 0);
SELECT job_fail('job', byte_key_range(start_key, end_key), 'why') FROM job_bundles WHERE state = 'claimed';
SELECT job_retry('job'), job_release('job', job_claim('job', 'd'));
--- a rescan of rowids
-- once
CREATE VIRTUAL TABLE job USING scan_job(t);
SELECT job_done('job', job_claim('job', 'a', 3));
INSERT INTO t(rowid, a) VALUES (-7, 0), (-3, 0);
-- from here on
SELECT job_rescan('job');
SELECT state, keys FROM job_bundles ORDER BY start_key;
--- a rescan of other keys, in a transaction
CREATE VIRTUAL TABLE job USING scan_job(w, key(p, q));
SELECT job_done('job', job_claim('job', 'a', 3));
INSERT INTO w VALUES (1, 'a');
-- from here on
BEGIN;
SELECT job_rescan('job');
ROLLBACK;
