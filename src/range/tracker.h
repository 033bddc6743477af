/*
** A range tracker decides, record by record, whether a reader may go on (try_claim). While the
** reader runs, others may take the unclaimed rest away (try_split, checkpoint).
**
** This is the interface. Four classes implement it:
**   byte_key_tracker.h   splittable, over byte keys       (what SQL's tracker_* functions use)
**   offset_tracker.h     splittable, over integers        (the same)
**   byte_key_record_tracker.h, offset_record_tracker.h    the two of io.range, for bounded readers
** The last two are part of the reference's model, and for programs that link to us and have readers
** in which a record may belong to the one before it. In a table each row is a record of its own, so
** the extension does not need them. Code in a hot loop may call the functions of a class directly.
**
** The promise: at every moment, each position of the range that a tracker was created with is
** either in its present restriction or in exactly one residual that was given away. A position that
** was claimed is in the present restriction and in no residual.
**
** Thread-safety: any thread may call any function but tr_tracker_free at any time. One claimer at a
** time makes increasing claims; others may split, checkpoint and ask. Nothing here waits for I/O:
** each call holds a mutex for a few comparisons, and a split for some microseconds of arithmetic.
** Source: Apache Beam, RestrictionTracker; versions and differences are given for each class.
*/
#ifndef TR_RANGE_TRACKER_H
#define TR_RANGE_TRACKER_H

#include "range/restriction.h"

typedef struct tr_tracker tr_tracker;

/* Creates a splittable tracker of the kind of `restriction`, over a copy of it. TR_NO_MEMORY. */
tr_code tr_tracker_create(const tr_restriction *restriction, tr_tracker **tracker, tr_error *err);
void tr_tracker_free(tr_tracker *tracker); /* May be NULL. No other thread may be using it. */

tr_restriction_kind tr_tracker_kind(const tr_tracker *tracker);

/* Tries to claim `position`. 1: claimed, process it. 0: outside, stop. -1: the call was wrong. */
int tr_tracker_try_claim(tr_tracker *tracker, tr_position position, tr_error *err);

/*
** Says that the reader has come to its natural end: everything up to the end is claimed. For bytes
** this claims the empty key, for integers the end itself (or 2^63-1). Another call changes nothing.
*/
tr_code tr_tracker_claim_end(tr_tracker *tracker, tr_error *err);

/*
** Takes the part behind `fraction` (0 <= fraction < 1) of what is not yet claimed. 1: `*residual`
** is what was taken, and the tracker keeps the rest; the caller frees the residual. 0: refused;
** nothing has changed, not even `*residual`. -1: TR_NO_MEMORY.
*/
int tr_tracker_try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                         tr_error *err);

/*
** Takes everything from `position` on. 1: `*residual` is [position, old end), and the tracker keeps
** what is before. 0: refused, nothing has changed: the position is not above the last attempt, or
** not above the start if nothing was attempted, or not below the end. -1: TR_NO_MEMORY, or a
** position of another kind. This allows what a fraction does not: to split at a key that exists.
*/
int tr_tracker_try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                            tr_error *err);

/*
** Takes all that is not yet claimed, so that the tracker is done with what it claimed. If nothing
** was attempted, that is the whole range, except for integers: there it is TR_INVALID_STATE until
** one was claimed, as in the reference. On an error nothing has changed.
*/
tr_code tr_tracker_checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err);

/* A copy of the present restriction, which the caller frees. TR_NO_MEMORY. */
tr_code tr_tracker_current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                       tr_error *err);

/*
** TR_OK if everything in the restriction was attempted; else TR_INVALID_STATE, which says what not.
*/
tr_code tr_tracker_check_done(tr_tracker *tracker, tr_error *err);
/* The same question without the text: 1 or 0. */
int tr_tracker_is_done(tr_tracker *tracker);

/*
** What remains. Bytes: 1 (untouched) down to 0 (done). Integers: how many, including the present
** one. Never NaN.
*/
double tr_tracker_size(tr_tracker *tracker);

/*
** How much of the present restriction is consumed: 0 untouched, 1 done. For integers the present
** one does not count, so that after the last claim it is still below 1. Never NaN.
*/
double tr_tracker_fraction_consumed(tr_tracker *tracker);

/*
** The last claimed and the last attempted position. 1: there is one; a key is copied to `key`, an
** offset to `*offset`. 0: none yet. -1: TR_NO_MEMORY. An empty key as the last attempt means that
** the end was claimed.
*/
int tr_tracker_last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err);
int tr_tracker_last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err);

/* Appends the text of the reference: `ByteKeyRangeTracker{range=..., lastClaimedKey=..., ...}`. */
tr_code tr_tracker_text(tr_tracker *tracker, tr_buffer *text, tr_error *err);

#endif
