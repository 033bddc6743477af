/*
** The tracker of a bounded reader over byte keys. The reader asks for each record whether it may
** return it; others split behind the last one. Unlike in byte_key_tracker.h, several records
** may have the same key, and only *split points* (records at which another reader could begin) are
** bound to the range. The records after a split point go with it, even beyond the end.
**
** Semantics: Beam's io.range ByteKeyRangeTracker, 2.2 to 2.30. Differences, where it breaks its own
** contract:
**   5. with an open end the fraction is estimated, and is 1.0 only at the end (2.2 and later give
**      1.0 from the first record on);
**   6. a first record past the end is not returned (the reference fails).
** The empty key, for which the reference has no fraction, is at the beginning: 0.
**
** As a tr_tracker: try_claim is try_return_record_at of a split point, claim_end is mark_done, and
** try_split(f) is try_split_at_position(position_for_fraction(f)). So f counts from the start of
** the range, which moves to the first record. Before the first record and after the end every split
** is refused. A checkpoint is possible at any time.
**
** Thread-safety: as tracker.h.
*/
#ifndef TR_RANGE_BYTE_KEY_RECORD_TRACKER_H
#define TR_RANGE_BYTE_KEY_RECORD_TRACKER_H

#include "range/byte_key_range.h"
#include "range/tracker.h"

typedef struct tr_byte_key_record_tracker tr_byte_key_record_tracker;

/*
** Creates a tracker over a copy of `range`. Release with tr_tracker_free. TR_NO_MEMORY: `*tracker`
** is NULL.
*/
tr_code tr_byte_key_record_tracker_create(const tr_byte_key_range *range,
                                          tr_byte_key_record_tracker **tracker, tr_error *err);

/* The tracker as a tr_tracker, and back. NULL if it is of another class. */
tr_tracker *tr_byte_key_record_tracker_base(tr_byte_key_record_tracker *tracker);
tr_byte_key_record_tracker *tr_byte_key_record_tracker_of(tr_tracker *tracker);

/*
** Asks to return the record at `key`. 1: return it. 0: it is beyond the end; the reader must stop,
** and all later calls return 0, too. -1: TR_INVALID_STATE (the first record is not a split point,
** or the key is below the start or below that of the last record) or TR_NO_MEMORY; nothing has
** changed.
*/
int tr_byte_key_record_tracker_try_return_record_at(tr_byte_key_record_tracker *tracker,
                                                    int is_split_point, tr_bytes key,
                                                    tr_error *err);

/*
** Ends the range at `key`. 1: done; `*residual` is [key, old end), and the caller frees it (NULL:
** not wanted). 0: refused, nothing has changed: no record yet, or `key` is not above the last
** record or not in the range. -1: TR_NO_MEMORY.
*/
int tr_byte_key_record_tracker_try_split_at_position(tr_byte_key_record_tracker *tracker,
                                                     tr_bytes key, tr_restriction *residual,
                                                     tr_error *err);

/*
** Sets `key` to the key at `fraction` of the present range. Errors: tr_byte_key_range_interpolate.
*/
tr_code tr_byte_key_record_tracker_position_for_fraction(tr_byte_key_record_tracker *tracker,
                                                         double fraction, tr_buffer *key,
                                                         tr_error *err);

/* 0 before the first record, even if marked done; 1 when done or at the end; else an estimate. */
double tr_byte_key_record_tracker_fraction_consumed(tr_byte_key_record_tracker *tracker);

/* The number of split points before the present one; when done, of all split points. */
int64_t tr_byte_key_record_tracker_split_points_consumed(tr_byte_key_record_tracker *tracker);

/* Says that the reader has come to its natural end. */
void tr_byte_key_record_tracker_mark_done(tr_byte_key_record_tracker *tracker);

/* Whether it was marked done, or a split point was refused. */
int tr_byte_key_record_tracker_is_done(tr_byte_key_record_tracker *tracker);

#endif
