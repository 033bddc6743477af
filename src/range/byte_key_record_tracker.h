/*
** The tracker of a bounded reader over byte keys: the reader asks for each record whether it may
** return it, others split behind the last one. What differs from byte_key_tracker.h: several
** records may have one key, and only *split points* (records at which another reader could begin)
** are bound to the range; the records after a split point go with it, even beyond the end.
**
** Semantics: Beam's io.range ByteKeyRangeTracker, 2.2 to 2.30. Where it breaks its own contract:
**   5. with an open end the fraction is estimated, and 1.0 only at the end (2.2 and later give 1.0
**      from the first record on);
**   6. a first record past the end is not returned (the reference fails);
** and the empty key, at which the reference has no fraction, lies at the beginning: 0.
**
** Behind tracker.h: try_claim is try_return_record_at of a split point, claim_end is mark_done, and
** try_split(f) is try_split_at_position(position_for_fraction(f)), so that f counts from the start
** of the range, which moves to the first record. Before the first record and after the end nothing
** is split; a checkpoint is possible at any time.
**
** Thread-safety: as tracker.h.
*/
#ifndef TR_RANGE_BYTE_KEY_RECORD_TRACKER_H
#define TR_RANGE_BYTE_KEY_RECORD_TRACKER_H

#include "range/byte_key_range.h"
#include "range/tracker.h"

typedef struct tr_byte_key_record_tracker tr_byte_key_record_tracker;

/*
** A tracker over a copy of `range`; released with tr_tracker_free. TR_NO_MEMORY: `*tracker` NULL.
*/
tr_code tr_byte_key_record_tracker_create(const tr_byte_key_range *range,
                                          tr_byte_key_record_tracker **tracker, tr_error *err);

/* The same tracker as tracker.h knows it, and back: NULL when it is of another class. */
tr_tracker *tr_byte_key_record_tracker_base(tr_byte_key_record_tracker *tracker);
tr_byte_key_record_tracker *tr_byte_key_record_tracker_of(tr_tracker *tracker);

/*
** Asks to return the record at `key`. 1: return it. 0: it is beyond the end, the reader must stop;
** every later question is answered 0 too. -1: TR_INVALID_STATE (the first record is not a split
** point, or the key is below the start or below the last record's) or TR_NO_MEMORY; nothing has
** changed.
*/
int tr_byte_key_record_tracker_try_return_record_at(tr_byte_key_record_tracker *tracker,
                                                    int is_split_point, tr_bytes key,
                                                    tr_error *err);

/*
** Ends the range at `key`. 1: done, and `*residual` (NULL: not wanted) is [key, old end), the
** caller frees it. 0: refused, nothing changed: no record yet, or `key` not above the last record
** or not in the range. -1: TR_NO_MEMORY.
*/
int tr_byte_key_record_tracker_try_split_at_position(tr_byte_key_record_tracker *tracker,
                                                     tr_bytes key, tr_restriction *residual,
                                                     tr_error *err);

/*
** The key at `fraction` of the range as it is now, into `key`. Errors:
** tr_byte_key_range_interpolate.
*/
tr_code tr_byte_key_record_tracker_position_for_fraction(tr_byte_key_record_tracker *tracker,
                                                         double fraction, tr_buffer *key,
                                                         tr_error *err);

/* 0 before the first record, even when marked done; 1 once done or at the end; else an estimate. */
double tr_byte_key_record_tracker_fraction_consumed(tr_byte_key_record_tracker *tracker);

/* How many split points were returned before the present one; when done, all of them. */
int64_t tr_byte_key_record_tracker_split_points_consumed(tr_byte_key_record_tracker *tracker);

/* The reader has come to its natural end. */
void tr_byte_key_record_tracker_mark_done(tr_byte_key_record_tracker *tracker);

/* Marked done, or a split point was refused. 1 or 0. */
int tr_byte_key_record_tracker_is_done(tr_byte_key_record_tracker *tracker);

#endif
