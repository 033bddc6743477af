/*
** The tracker of a bounded reader over integers: the reader asks for each record whether it may
** return it, others split behind the last one. What differs from offset_tracker.h: records that are
** not *split points* go with the split point before them, even beyond the end.
**
** Semantics: Beam's io.range OffsetRangeTracker, 2.2 to 2.30, a stop of 2^63-1 meaning "no end":
** then nothing is split and the fraction stays 0. [start, stop) may have stop < start: it holds
** nothing. Where ours differs: the reference marks "none yet" by the offset -1, so that ranges of
** negative offsets misbehave, and its differences wrap around in ranges wider than 2^63-1. Here a
** flag says "none yet", and widths are exact.
**
** Behind tracker.h: as byte_key_record_tracker.h.
** Thread-safety: as tracker.h.
*/
#ifndef TR_RANGE_OFFSET_RECORD_TRACKER_H
#define TR_RANGE_OFFSET_RECORD_TRACKER_H

#include "range/tracker.h"

/* As a stop: no end. */
#define TR_OFFSET_INFINITY INT64_MAX

typedef struct tr_offset_record_tracker tr_offset_record_tracker;

/* Released with tr_tracker_free. TR_NO_MEMORY: `*tracker` is NULL. */
tr_code tr_offset_record_tracker_create(int64_t start, int64_t stop,
                                        tr_offset_record_tracker **tracker, tr_error *err);

/* The same tracker as tracker.h knows it, and back: NULL when it is of another class. */
tr_tracker *tr_offset_record_tracker_base(tr_offset_record_tracker *tracker);
tr_offset_record_tracker *tr_offset_record_tracker_of(tr_tracker *tracker);

/*
** Asks to return the record that starts at `offset`. 1: return it. 0: it is beyond the end, the
** reader must stop. -1: TR_INVALID_STATE (the first record is not a split point; the offset is
** below the start or the last record's; a split point at the offset of the last split point);
** nothing has changed. As in the reference, a done tracker still answers for what is below the
** stop.
*/
int tr_offset_record_tracker_try_return_record_at(tr_offset_record_tracker *tracker,
                                                  int is_split_point, int64_t offset,
                                                  tr_error *err);

/*
** Stops the range at `offset`. 1: done, and `*residual` (NULL: not wanted) is [offset, old stop).
** 0: refused, nothing changed: no record yet, no end, or `offset` not above the last record or not
** in the range.
*/
int tr_offset_record_tracker_try_split_at_position(tr_offset_record_tracker *tracker,
                                                   int64_t offset, tr_restriction *residual);

/*
** floor(start + fraction * (stop - start)) in doubles, cut to the int64 line, whatever the
** fraction; NaN gives 0. TR_INVALID_ARGUMENT: the range has no end.
*/
tr_code tr_offset_record_tracker_position_for_fraction(tr_offset_record_tracker *tracker,
                                                       double fraction, int64_t *offset,
                                                       tr_error *err);

/* The range as it is now; the stop may be below the start. */
void tr_offset_record_tracker_range(tr_offset_record_tracker *tracker, int64_t *start,
                                    int64_t *stop);

/* 0 before the first record, 1 when done or at the end, 0 without an end. */
double tr_offset_record_tracker_fraction_consumed(tr_offset_record_tracker *tracker);

/* How many split points were returned before the present one; when done, all of them. */
int64_t tr_offset_record_tracker_split_points_consumed(tr_offset_record_tracker *tracker);

/* The reader has come to its natural end. */
void tr_offset_record_tracker_mark_done(tr_offset_record_tracker *tracker);

/* Marked done, or a split point was refused; a split point was returned, or done. 1 or 0. */
int tr_offset_record_tracker_is_done(tr_offset_record_tracker *tracker);
int tr_offset_record_tracker_is_started(tr_offset_record_tracker *tracker);

#endif
