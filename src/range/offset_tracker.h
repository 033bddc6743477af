/*
** The splittable tracker over integers: claims offsets of [from, to) in increasing order, and lets
** others take the unclaimed rest away while that goes on. What tracker.h says of all trackers
** holds; here stand what is particular to integers and the ways to claim in a hot loop.
**
** Semantics: Beam's splittable OffsetRangeTracker, 2.15 for claims, checkpoint and texts, 2.30 for
** try_split and for check_done before the first attempt (where 2.15 fails with a null pointer).
** Particular to integers, and as in 2.15:
**   checkpoint before any offset was claimed is an error (nothing has changed);
**   size counts offsets, the one in hand included: to - from untouched, to - last attempt while
**   running, 0 once the end was attempted;
**   fraction_consumed goes with it: (width - size) / width, 1 for [x, x);
**   try_split takes a fraction below 0 as 0, one of 1 and above, or NaN, refuses.
** Where the reference leaves the int64 line (a last attempt of 2^63-1, a range wider than 2^63-1),
** this one does not: a done tracker refuses to split, sizes and fractions are those of the true
** width.
**
** Claiming ahead: see byte_key_tracker.h. For integers a window is a limit and no more.
**
** Thread-safety: the tracker, from any thread; a window belongs to the one claimer.
*/
#ifndef TR_RANGE_OFFSET_TRACKER_H
#define TR_RANGE_OFFSET_TRACKER_H

#include "range/offset_range.h"
#include "range/tracker.h"

typedef struct tr_offset_tracker tr_offset_tracker;

/* A tracker over `range`; released with tr_tracker_free. TR_NO_MEMORY: `*tracker` is NULL. */
tr_code tr_offset_tracker_create(tr_offset_range range, tr_offset_tracker **tracker, tr_error *err);

/* The same tracker as tracker.h knows it, and back: NULL when it is of another class. */
tr_tracker *tr_offset_tracker_base(tr_offset_tracker *tracker);
tr_offset_tracker *tr_offset_tracker_of(tr_tracker *tracker);

/*
** Tries to claim `offset`. 1: claimed, the caller must now process it. 0: outside the range, the
** caller must stop. -1: `err` says why the call was wrong (not above the last attempt, or below
** `from`); nothing has changed. Never fails for want of memory.
*/
int tr_offset_tracker_try_claim(tr_offset_tracker *tracker, int64_t offset, tr_error *err);

/*
** What a claimer may take without asking: offsets below `limit`. Begins as TR_OFFSET_WINDOW_CLOSED;
** nothing to release.
*/
typedef struct tr_offset_window {
  int64_t limit;
} tr_offset_window;

#define TR_OFFSET_WINDOW_CLOSED ((tr_offset_window){INT64_MIN})

/*
** As tr_offset_tracker_try_claim, and on 1 the window reaches from `offset` over `width` integers
** (1: it alone), not beyond the end. The claimer's loop calls tr_offset_window_claim below, not
** this.
*/
int tr_offset_tracker_claim_ahead(tr_offset_tracker *tracker, tr_offset_window *window,
                                  int64_t offset, uint64_t width, tr_error *err);

/*
** Claims all that is left: every offset up to the end then lies in the window, and splits are
** refused until it is released. 1: something was left. 0: the tracker is done.
*/
int tr_offset_tracker_claim_rest(tr_offset_tracker *tracker, tr_offset_window *window);

/*
** Gives back what of the window lies above `last`, the last offset that was claimed in it; `last`
** is then the tracker's last claimed one. A claimer that stops before the end calls it; without it
** the window stays claimed for ever. TR_INVALID_ARGUMENT: `last` is not in the range.
*/
tr_code tr_offset_tracker_release(tr_offset_tracker *tracker, tr_offset_window *window,
                                  int64_t last, tr_error *err);
/* The same where nothing in the window was claimed after it was opened. */
void tr_offset_tracker_release_unused(tr_offset_tracker *tracker, tr_offset_window *window);

/*
** Claims `offset`: within the window by a comparison, else from the tracker together with a new
** window of `width`. Answers as try_claim does. Offsets must increase; within a window that is the
** caller's to see to.
*/
static inline int tr_offset_window_claim(tr_offset_tracker *tracker, tr_offset_window *window,
                                         int64_t offset, uint64_t width, tr_error *err) {
  if (offset < window->limit) return 1;
  return tr_offset_tracker_claim_ahead(tracker, window, offset, width, err);
}

#endif
