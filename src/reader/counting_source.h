/*
** The numbers that a counting reader reads: start, start + step, ... before the end and within
** int64. They form a *lattice*, on which every cut is exact and takes constant time: a range of
** values, the first n, all but the first n, the reverse order.
**
** A cut never moves the lattice: counting from 1 by 3, restricted to 2..8, gives 4, 7.
** A plain value that owns nothing. Pure; thread-safe.
** Source: Apache Beam, CountingSource, GenerateSequence (2.8 to 2.30).
*/
#ifndef TR_READER_COUNTING_SOURCE_H
#define TR_READER_COUNTING_SOURCE_H

#include <stdint.h>

#include "range/offset_range.h"

typedef struct tr_counting_source {
  int64_t first; /* meaningless if is_empty */
  int64_t last;  /* the last number itself: last - first is a multiple of step */
  int64_t step;  /* not 0; negative counts down */
  int is_empty;
} tr_counting_source;

/*
** [start, up_to) by `step`. A negative step gives start, start + step, ... above up_to. The source
** is empty if up_to is not in the direction of step. TR_INVALID_ARGUMENT: step is 0.
*/
tr_code tr_counting_source_init(tr_counting_source *source, int64_t start, int64_t up_to,
                                int64_t step, tr_error *err);

/* The same without an end. 2^63-1 (counting down: -2^63) is included if a step reaches it. */
tr_code tr_counting_source_init_unbounded(tr_counting_source *source, int64_t start, int64_t step,
                                          tr_error *err);

/* How many numbers there are. For the one source that has 2^64 of them it returns 2^64-1. */
uint64_t tr_counting_source_count(const tr_counting_source *source);

/* 1 or 0. */
int tr_counting_source_contains(const tr_counting_source *source, int64_t value);

/* Keeps the numbers from `low` to `high`, both included. low > high: none. */
void tr_counting_source_restrict(tr_counting_source *source, int64_t low, int64_t high);

/* Keeps the first `count` numbers; or drops them. */
void tr_counting_source_take(tr_counting_source *source, uint64_t count);
void tr_counting_source_skip(tr_counting_source *source, uint64_t count);

/*
** Reverses the order of the numbers. A step of -2^63 has no opposite in int64 and stays as it is.
** Since first + step is computed modulo 2^64, that is right all the same.
*/
void tr_counting_source_reverse(tr_counting_source *source);

/*
** The position of a number in a range of offsets, and back. Restrictions and trackers have only
** increasing offsets. Counting up, the offset is the number. Counting down, it is -1 - number,
** which reverses the order and never overflows.
*/
int64_t tr_counting_offset(int64_t value, int64_t step);
int64_t tr_counting_value(int64_t offset, int64_t step);

/* Keeps the numbers whose offsets are in `range`. The source must not have been reversed. */
void tr_counting_source_restrict_offsets(tr_counting_source *source, const tr_offset_range *range);

/*
** All that an unsplit reader reads, as the offsets that a tracker is opened over: [start, up_to),
** or [start, 2^63-1) if `up_to` is NULL. Empty if the source is empty. The end of a range is not in
** it, so the very last number of an unbounded source, 2^63-1 or -2^63, is not in it either.
*/
tr_offset_range tr_counting_offsets(int64_t start, const int64_t *up_to, int64_t step);

#endif
