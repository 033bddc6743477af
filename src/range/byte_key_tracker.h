/*
** The splittable tracker over byte keys: claims keys of [start, end) in increasing order, and lets
** others take the unclaimed rest away while that goes on. What tracker.h says of all trackers
** holds; here stand what is particular to byte keys and the ways to claim in a hot loop.
**
** Semantics: Beam's splittable ByteKeyRangeTracker, 2.15 for claims, checkpoint and texts, 2.30 for
** try_split. Where 2.15 breaks its own contract:
**   1. size is what remains: 1 untouched, 1 - fraction while running, 0 done (2.15 rises);
**   2. check_done passes after checkpoint, and whenever no key lies between the last attempted one
**      and the end, next(last attempted) >= end;
**   3. after the empty key was claimed every later claim is an error (2.15 begins anew);
**   4. [x, x) is done from the beginning.
**
** Claiming ahead. A worker that cannot be told to stop in the middle need not ask for each key: it
** keeps a window (byte_key_window.h), which the tracker has given to it whole ("claimed up to X"),
** and compares with X by itself. The tracker gives nothing below X away. A window never takes more
** than an eighth of what is left, and one that turns out too full is trimmed to the keys used so
** far.
**
** Thread-safety: the tracker, from any thread; a window belongs to the one claimer.
*/
#ifndef TR_RANGE_BYTE_KEY_TRACKER_H
#define TR_RANGE_BYTE_KEY_TRACKER_H

#include "range/byte_key_range.h"
#include "range/byte_key_window.h"
#include "range/tracker.h"

typedef struct tr_byte_key_tracker tr_byte_key_tracker;

/*
** A tracker over a copy of `range`; released with tr_tracker_free. TR_NO_MEMORY: `*tracker` NULL.
*/
tr_code tr_byte_key_tracker_create(const tr_byte_key_range *range, tr_byte_key_tracker **tracker,
                                   tr_error *err);

/* The same tracker as tracker.h knows it, and back: NULL when it is of another class. */
tr_tracker *tr_byte_key_tracker_base(tr_byte_key_tracker *tracker);
tr_byte_key_tracker *tr_byte_key_tracker_of(tr_tracker *tracker);

/*
** Says where the keys are thought to lie: from `first` to `last`, both copied. A range without a
** start or an end is then measured, and split, as if it began and ended there: half of what remains
** is half of the keys' span and not of all possible keys. Only a hint: keys outside are claimed
** like any other, and no key is lost. Called again, the new hint counts. TR_INVALID_ARGUMENT: first
** > last. TR_NO_MEMORY. On failure nothing has changed.
*/
tr_code tr_byte_key_tracker_set_extent(tr_byte_key_tracker *tracker, tr_bytes first, tr_bytes last,
                                       tr_error *err);

/*
** Tries to claim `key`, which is copied. 1: claimed, the caller must now process it. 0: outside the
** range, the caller must stop; so ends the empty key, which claims everything up to the end. -1:
** `err` says why the call was wrong (not above the last attempt, below the start, after the empty
** key), or TR_NO_MEMORY, possible only when the key is longer than any before; nothing has changed.
*/
int tr_byte_key_tracker_try_claim(tr_byte_key_tracker *tracker, tr_bytes key, tr_error *err);

/*
** As tr_byte_key_tracker_try_claim, and on 1 the window is made to begin at `key`. Mixing with
** exact claims is fine. Should memory fail, the claim still stands and the window is empty. The
** claimer's loop calls tr_byte_key_window_claim below, not this.
*/
int tr_byte_key_tracker_claim_ahead(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                    tr_bytes key, tr_error *err);

/*
** Claims all that is left: every key up to the end then lies in the window, and splits are refused
** until it is released. 1: something was left. 0: the tracker is done. -1: TR_NO_MEMORY.
*/
int tr_byte_key_tracker_claim_rest(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                   tr_error *err);

/*
** Gives back what of the window lies above `last`, the last key that was claimed in it (empty: none
** was); `last` is then the tracker's last claimed key. A claimer that stops before the end calls
** it; without it the window stays claimed for ever. TR_INVALID_ARGUMENT: `last` is not in the
** range.
** TR_NO_MEMORY: nothing has changed.
*/
tr_code tr_byte_key_tracker_release(tr_byte_key_tracker *tracker, tr_byte_key_window *window,
                                    tr_bytes last, tr_error *err);

/*
** Claims `key`: within the window by a comparison, else from the tracker together with a new
** window. Answers as try_claim does. Keys must increase; within a window that is the caller's to
** see to.
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
