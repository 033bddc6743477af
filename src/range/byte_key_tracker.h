/*
** The splittable tracker over byte keys. It claims keys of [start, end) in increasing order, while
** others may take the unclaimed rest away. All that tracker.h says holds here. This header adds
** what is special to byte keys, and the ways to claim in a hot loop.
**
** Semantics: Beam's splittable ByteKeyRangeTracker, 2.15 for claims, checkpoint and texts, 2.30 for
** try_split. Differences, where 2.15 breaks its own contract:
**   1. size is what remains: 1 untouched, 1 - fraction while running, 0 done (in 2.15 it rises);
**   2. check_done also passes after a checkpoint, and whenever no key lies between the last
**      attempted one and the end: next(last attempted) >= end;
**   3. after the empty key was claimed every later claim is an error (2.15 begins again);
**   4. [x, x) is done from the beginning.
**
** Claiming ahead. A worker that cannot be stopped in the middle of its work need not ask for each
** key. It has a window (byte_key_window.h), which the tracker has given to it whole ("claimed up to
** X"), and compares keys with X itself. The tracker gives away nothing below X. A window is never
** wider than an eighth of what is left. A window that turns out to hold too many keys is trimmed to
** those used so far.
**
** Thread-safety: any thread may use the tracker. A window belongs to the one claimer.
*/
#ifndef TR_RANGE_BYTE_KEY_TRACKER_H
#define TR_RANGE_BYTE_KEY_TRACKER_H

#include "range/byte_key_range.h"
#include "range/byte_key_window.h"
#include "range/tracker.h"

typedef struct tr_byte_key_tracker tr_byte_key_tracker;

/*
** Creates a tracker over a copy of `range`. Release with tr_tracker_free. TR_NO_MEMORY: `*tracker`
** is NULL.
*/
tr_code tr_byte_key_tracker_create(const tr_byte_key_range *range, tr_byte_key_tracker **tracker,
                                   tr_error *err);

/* The tracker as a tr_tracker, and back. NULL if it is of another class. */
tr_tracker *tr_byte_key_tracker_base(tr_byte_key_tracker *tracker);
tr_byte_key_tracker *tr_byte_key_tracker_of(tr_tracker *tracker);

/*
** Says where the keys probably are: from `first` to `last`, which are copied. A range without a
** start or an end is then measured and split as if it began and ended there: half of what remains
** is half of the span of the keys, not of all possible keys. It is only a hint. Keys outside are
** claimed like any other, and no key is lost. A second call replaces the hint. TR_INVALID_ARGUMENT:
** first > last. TR_NO_MEMORY. On failure nothing has changed.
*/
tr_code tr_byte_key_tracker_set_extent(tr_byte_key_tracker *tracker, tr_bytes first, tr_bytes last,
                                       tr_error *err);

/*
** Tries to claim `key`, which is copied. 1: claimed; the caller must now process it. 0: outside the
** range; the caller must stop. The empty key claims everything up to the end, and also gives 0. -1:
** the call was wrong (not above the last attempt, below the start, or after the empty key), or
** TR_NO_MEMORY, which is possible only if the key is longer than all before; nothing has changed.
*/
int tr_byte_key_tracker_try_claim(tr_byte_key_tracker *tracker, tr_bytes key, tr_error *err);

/*
** As tr_byte_key_tracker_try_claim. On 1 it also opens a window that begins at `key`. If memory
** runs out for the window, the claim still stands and the window is empty. Exact claims may be
** mixed with this. A claimer's loop calls tr_byte_key_window_claim below, not this.
*/
int tr_byte_key_tracker_claim_ahead(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                    tr_bytes key, tr_error *err);

/*
** Claims all that is left. The window then holds every key up to the end, and splits are refused
** until it is released. 1: something was left. 0: the tracker is done. -1: TR_NO_MEMORY.
*/
int tr_byte_key_tracker_claim_rest(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                   tr_error *err);

/*
** Gives back the part of the window above `last`, the last key that was claimed in it (empty: none
** was). `last` becomes the tracker's last claimed key. A claimer that stops before the end must
** call this; else the window stays claimed for ever. TR_INVALID_ARGUMENT: `last` is not in the
** range. TR_NO_MEMORY. On failure nothing has changed.
*/
tr_code tr_byte_key_tracker_release(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                    tr_bytes last, tr_error *err);

/*
** For a claimer that goes on key by key; the worker pool reads a whole window at once instead.
**
** Claims `key`. Within the window this is one comparison; else the tracker claims it and opens a
** new window. Returns as try_claim does. Keys must increase; within a window the caller must see to
** that.
*/
static inline int tr_byte_key_window_claim(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                           tr_bytes key, tr_error *err) {
  if (!tr_byte_key_window_holds(window, key)) {
    return tr_byte_key_tracker_claim_ahead(tracker, window, key, err);
  }
  window->left--;
  return 1;
}

#endif
