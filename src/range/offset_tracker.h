/*
** The splittable tracker over integers. It claims offsets of [from, to) in increasing order, while
** others may take the unclaimed rest away. All that tracker.h says holds here. This header adds
** what is special to integers.
**
** Semantics: Beam's splittable OffsetRangeTracker, 2.15 for claims, checkpoint and texts, 2.30 for
** try_split and for check_done before the first attempt (where 2.15 fails with a null pointer).
** Special to integers, and as in 2.15:
**   - a checkpoint before any offset was claimed is an error, and changes nothing;
**   - size counts offsets, including the present one: to - from untouched, to - last attempt while
**     running, 0 once the end was attempted;
**   - fraction_consumed follows from it: (width - size) / width, and 1 for [x, x);
**   - try_split takes a fraction below 0 as 0, and refuses NaN and fractions of 1 and above.
** The reference leaves the int64 line in some cases (a last attempt of 2^63-1, a range wider than
** 2^63-1). Here a done tracker refuses to split, and sizes and fractions are those of the true
** width.
**
** Thread-safety: any thread may use the tracker.
*/
#ifndef TR_RANGE_OFFSET_TRACKER_H
#define TR_RANGE_OFFSET_TRACKER_H

#include "range/offset_range.h"
#include "range/tracker.h"

typedef struct tr_offset_tracker tr_offset_tracker;

/* Creates a tracker. Release with tr_tracker_free. TR_NO_MEMORY: `*tracker` is NULL. */
tr_code tr_offset_tracker_create(tr_offset_range range, tr_offset_tracker **tracker, tr_error *err);

/* The tracker as a tr_tracker, and back. NULL if it is of another class. */
tr_tracker *tr_offset_tracker_base(tr_offset_tracker *tracker);
tr_offset_tracker *tr_offset_tracker_of(tr_tracker *tracker);

/*
** Tries to claim `offset`. 1: claimed; the caller must now process it. 0: outside the range; the
** caller must stop. -1: the call was wrong (not above the last attempt, or below `from`); nothing
** has changed. Needs no memory.
*/
int tr_offset_tracker_try_claim(tr_offset_tracker *tracker, int64_t offset, tr_error *err);

#endif
