.load ./tranche
.nullvalue NULL
-- Claiming the end marks the range done; a checkpoint of an untouched or a finished range is valid.
SELECT tracker_open('a', byte_key_range('', x'80'));
SELECT tracker_size('a'), tracker_fraction_consumed('a');
SELECT tracker_try_split('a', 0.5);
SELECT tracker_try_claim('a', x'10'), tracker_try_claim('a', x'');
SELECT tracker_check_done('a'), tracker_size('a');
SELECT tracker_try_split('a', 0.5), tracker_checkpoint('a');
SELECT tracker_close('a');
SELECT tracker_open('b', byte_key_range('a', 'b'));
SELECT tracker_checkpoint('b'), tracker_check_done('b');
SELECT tracker_close('b');
-- Both ends of the integers.
SELECT tracker_open('wide', offset_range(-9223372036854775808, 9223372036854775807));
SELECT tracker_size('wide');
SELECT tracker_try_claim('wide', -9223372036854775808);
SELECT tracker_try_split('wide', 0);
SELECT tracker_check_done('wide');
SELECT tracker_close('wide');
-- Two connections, one process: a shared name, and what its owner alone may do.
SELECT tracker_open('shared:s', offset_range(0, 10));
SELECT tracker_open('private', offset_range(0, 10));
.connection 1
.open :memory:
.load ./tranche
SELECT name FROM range_trackers;
SELECT tracker_try_split('shared:s', 0.5);
SELECT tracker_open('shared:s', offset_range(0, 10));
SELECT tracker_close('shared:s');
SELECT tracker_size('private');
.connection 0
SELECT tracker_current_restriction('shared:s');
SELECT name, kind, restriction, last_claimed, last_attempted, fraction_consumed, size, done FROM range_trackers;
-- What is wrong says what, where and why.
SELECT tracker_open('', offset_range(0, 1));
SELECT tracker_open(NULL, offset_range(0, 1));
SELECT tracker_open('x', 'all of it');
SELECT tracker_open('x', NULL);
SELECT tracker_try_claim('shared:s', 'k');
SELECT tracker_try_claim('shared:s', NULL);
SELECT tracker_try_split('shared:s', 'half');
-- Not from the schema.
CREATE VIEW sneaky AS SELECT tracker_size('shared:s');
SELECT * FROM sneaky;
CREATE VIEW sneaky2 AS SELECT * FROM range_trackers;
SELECT * FROM sneaky2;
