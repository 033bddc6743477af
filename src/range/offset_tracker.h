/*
** The splittable tracker over integers. It claims offsets of [from, to) in increasing order, while
** others may take the unclaimed rest away. All that tracker.h says holds here. This header adds
** what is special to integers, and the ways to claim in a hot loop.
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
** Claiming ahead: see byte_key_tracker.h. For integers a window is only a limit.
**
** Thread-safety: any thread may use the tracker. A window belongs to the one claimer.
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

/*
** The offsets that a claimer may take without asking: those below `limit`. Initialize with
** TR_OFFSET_WINDOW_CLOSED. Needs no release.
*/
typedef struct tr_offset_window {
  int64_t limit;
} tr_offset_window;

#define TR_OFFSET_WINDOW_CLOSED ((tr_offset_window){INT64_MIN})

/*
** As tr_offset_tracker_try_claim. On 1 it also opens a window of `width` integers from `offset` on
** (1: only `offset`), at most up to the end. A claimer's loop calls tr_offset_window_claim below,
** not this.
*/
int tr_offset_tracker_claim_ahead(tr_offset_tracker *tracker, tr_offset_window *window,
                                  int64_t offset, uint64_t width, tr_error *err);

/*
** Claims all that is left. The window then holds every offset up to the end, and splits are refused
** until it is released. 1: something was left. 0: the tracker is done.
*/
int tr_offset_tracker_claim_rest(tr_offset_tracker *tracker, tr_offset_window *window);

/*
** Gives back the part of the window above `last`, the last offset that was claimed in it. `last`
** becomes the tracker's last claimed offset. A claimer that stops before the end must call this;
** else the window stays claimed for ever. TR_INVALID_ARGUMENT: `last` is not in the range.
*/
tr_code tr_offset_tracker_release(tr_offset_tracker *tracker, tr_offset_window *window,
                                  int64_t last, tr_error *err);
/* The same if nothing in the window was claimed after it was opened. */
void tr_offset_tracker_release_unused(tr_offset_tracker *tracker, tr_offset_window *window);

/*
** Claims `offset`. Within the window this is one comparison; else the tracker claims it and opens a
** new window of `width`. Returns as try_claim does. Offsets must increase; within a window the
** caller must see to that.
*/
static inline int tr_offset_window_claim(tr_offset_tracker *tracker, tr_offset_window *window,
                                         int64_t offset, uint64_t width, tr_error *err) {
  if (offset < window->limit) return 1;
  return tr_offset_tracker_claim_ahead(tracker, window, offset, width, err);
}

#endif
