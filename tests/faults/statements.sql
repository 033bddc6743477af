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
SELECT tracker_open('one', byte_key_range(x'10', x'f0'));
SELECT tracker_try_claim('one', x'11'), tracker_try_claim('one', x'1234567890');
SELECT tracker_try_split('one', 0.5), tracker_size('one'), tracker_fraction_consumed('one');
SELECT tracker_current_restriction('one'), tracker_to_string('one');
SELECT * FROM range_trackers;
SELECT tracker_checkpoint('one'), tracker_check_done('one');
SELECT tracker_close('one');
--- shared tracker
SELECT tracker_open('shared:one', offset_range(0, 100));
SELECT tracker_try_claim('shared:one', 10), tracker_try_split('shared:one', 0.5);
SELECT * FROM range_trackers WHERE name = 'shared:one';
SELECT tracker_checkpoint('shared:one'), tracker_check_done('shared:one');
--- trackers that stay open
SELECT tracker_open('shared:left', offset_range(0, 100)), tracker_open('left', byte_key_range(x'', x''));
