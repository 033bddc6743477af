/*
** The tracker of a bounded reader over integers. The reader asks for each record whether it may
** return it; others split behind the last one. Unlike in offset_tracker.h, records that are not
** *split points* go with the split point before them, even beyond the end.
**
** Semantics: Beam's io.range OffsetRangeTracker, 2.2 to 2.30. A stop of 2^63-1 means "no end": then
** every split is refused and the fraction stays 0. [start, stop) may have stop < start, and then
** holds nothing.
**
** Differences: the reference marks "none yet" by the offset -1, so that ranges of negative offsets
** misbehave, and its differences wrap around in ranges wider than 2^63-1. Here a flag says "none
** yet", and widths are exact.
**
** As a tr_tracker: like byte_key_record_tracker.h.
** Thread-safety: as tracker.h.
*/
#ifndef TR_RANGE_OFFSET_RECORD_TRACKER_H
#define TR_RANGE_OFFSET_RECORD_TRACKER_H

#include "range/tracker.h"

/* A stop that means: no end. */
#define TR_OFFSET_INFINITY INT64_MAX

typedef struct tr_offset_record_tracker tr_offset_record_tracker;

/* Release with tr_tracker_free. TR_NO_MEMORY: `*tracker` is NULL. */
tr_code tr_offset_record_tracker_create(int64_t start, int64_t stop,
                                        tr_offset_record_tracker **tracker, tr_error *err);

/* The tracker as a tr_tracker, and back. NULL if it is of another class. */
tr_tracker *tr_offset_record_tracker_base(tr_offset_record_tracker *tracker);
tr_offset_record_tracker *tr_offset_record_tracker_of(tr_tracker *tracker);

/*
** Asks to return the record that starts at `offset`. 1: return it. 0: it is beyond the end; the
** reader must stop. -1: TR_INVALID_STATE, nothing has changed: the first record is not a split
** point; the offset is below the start or below that of the last record; a split point has the
** offset of the last split point. As in the reference, a done tracker still returns 1 for offsets
** below the stop.
*/
int tr_offset_record_tracker_try_return_record_at(tr_offset_record_tracker *tracker,
                                                  int is_split_point, int64_t offset,
                                                  tr_error *err);

/*
** Stops the range at `offset`. 1: done; `*residual` is [offset, old stop) (NULL: not wanted). 0:
** refused, nothing has changed: no record yet, no end, or `offset` is not above the last record or
** not in the range.
*/
int tr_offset_record_tracker_try_split_at_position(tr_offset_record_tracker *tracker,
                                                   int64_t offset, tr_restriction *residual);

/*
** floor(start + fraction * (stop - start)) in doubles, cut to the int64 line, for any fraction. NaN
** gives 0. TR_INVALID_ARGUMENT: the range has no end.
*/
tr_code tr_offset_record_tracker_position_for_fraction(tr_offset_record_tracker *tracker,
                                                       double fraction, int64_t *offset,
                                                       tr_error *err);

/* The present range. The stop may be below the start. */
void tr_offset_record_tracker_range(tr_offset_record_tracker *tracker, int64_t *start,
                                    int64_t *stop);

/* 0 before the first record; 1 when done or at the end; 0 if there is no end. */
double tr_offset_record_tracker_fraction_consumed(tr_offset_record_tracker *tracker);

/* The number of split points before the present one; when done, of all split points. */
int64_t tr_offset_record_tracker_split_points_consumed(tr_offset_record_tracker *tracker);

/* Says that the reader has come to its natural end. */
void tr_offset_record_tracker_mark_done(tr_offset_record_tracker *tracker);

/*
** is_done: it was marked done, or a split point was refused. is_started: a split point was
** returned, or it is done.
*/
int tr_offset_record_tracker_is_done(tr_offset_record_tracker *tracker);
int tr_offset_record_tracker_is_started(tr_offset_record_tracker *tracker);

#endif
