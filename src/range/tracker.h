/*
** A range tracker: decides record by record whether a reader may go on (try_claim), and lets
** somebody else take the unclaimed rest away while it runs (try_split, checkpoint).
**
** This is the interface; the four classes behind it are
**   byte_key_tracker.h   splittable, over byte keys       (what SQL's tracker_* functions use)
**   offset_tracker.h     splittable, over integers        (the same)
**   byte_key_record_tracker.h, offset_record_tracker.h    the two of io.range, for bounded readers
** A caller in a hot loop may call the functions of a class directly.
**
** The promise: at every moment each position of the range that a tracker was created with lies
** either in its present restriction or in exactly one residual that was handed out, and a position
** that was claimed lies in the present restriction and in no residual.
**
** Thread-safe: any function but tr_tracker_free from any thread at any time. One claimer at a time
** gives increasing claims; others may split, checkpoint and ask. Nothing here waits for I/O: each
** call holds a mutex for a few comparisons (a split: some microseconds of arithmetic).
** Source: Apache Beam, RestrictionTracker; versions and deviations are named in each class.
*/
#ifndef TR_RANGE_TRACKER_H
#define TR_RANGE_TRACKER_H

#include "range/restriction.h"

typedef struct tr_tracker tr_tracker;

/* Creates a splittable tracker over a copy of `restriction`, of its kind. TR_NO_MEMORY. */
tr_code tr_tracker_create(const tr_restriction *restriction, tr_tracker **tracker, tr_error *err);
void tr_tracker_free(tr_tracker *tracker); /* NULL is fine. No other thread may be using it. */

tr_restriction_kind tr_tracker_kind(const tr_tracker *tracker);

/* Tries to claim `position`: 1 claimed, process it; 0 outside, stop; -1 the call was wrong. */
int tr_tracker_try_claim(tr_tracker *tracker, tr_position position, tr_error *err);

/*
** Says that the reader has come to its natural end: everything up to the end is claimed. For bytes
** that is claiming the empty key; for integers claiming the end itself (or 2^63-1).
** Calling it again changes nothing.
*/
tr_code tr_tracker_claim_end(tr_tracker *tracker, tr_error *err);

/*
** Takes the part behind `fraction` (0 <= fraction < 1) of what is not yet claimed. 1: `*residual`
** is what was taken, the tracker keeps the rest. 0: refused, nothing changed, `*residual`
** untouched. -1: TR_NO_MEMORY. The caller frees the residual.
*/
int tr_tracker_try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                         tr_error *err);

/*
** Takes what lies at and behind `position`. 1: `*residual` is [position, old end), the tracker
** keeps what is before. 0: refused, nothing changed: the position is not above the last attempt,
** not above the start where nothing was attempted, or not below the end. -1: TR_NO_MEMORY, or a
** position of another kind. What a fraction cannot express: a caller snaps a split to a key that
** exists.
*/
int tr_tracker_try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                            tr_error *err);

/*
** Takes all that is not yet claimed; the tracker is then done with what it claimed. Where nothing
** was attempted that is all of the range, except for integers, where it is TR_INVALID_STATE until
** one was claimed (as in the reference). On an error nothing has changed.
*/
tr_code tr_tracker_checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err);

/* A copy of the present restriction; the caller frees it. TR_NO_MEMORY. */
tr_code tr_tracker_current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                       tr_error *err);

/*
** TR_OK when everything in the restriction was attempted; else TR_INVALID_STATE saying what was
** not.
*/
tr_code tr_tracker_check_done(tr_tracker *tracker, tr_error *err);
/* The same question without the text: 1 or 0. */
int tr_tracker_is_done(tr_tracker *tracker);

/*
** What remains: bytes 1 (untouched) down to 0 (done); integers: how many, with the one in hand.
** Never NaN.
*/
double tr_tracker_size(tr_tracker *tracker);

/*
** How much of the present restriction is consumed: 0 untouched, 1 done; for integers the one in
** hand does not count, so that the last one claimed leaves it below 1. Never NaN.
*/
double tr_tracker_fraction_consumed(tr_tracker *tracker);

/*
** The last claimed and the last attempted position. 1: there is one; a key is copied into `key`,
** an offset put into `*offset`. 0: none yet. -1: TR_NO_MEMORY. The empty key as last attempt means
** that the end was claimed.
*/
int tr_tracker_last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err);
int tr_tracker_last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err);

/* Appends the reference's text, e.g. `ByteKeyRangeTracker{range=..., lastClaimedKey=..., ...}`. */
tr_code tr_tracker_text(tr_tracker *tracker, tr_buffer *text, tr_error *err);

#endif
