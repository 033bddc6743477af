/*
** What a counting reader reads: the numbers start, start + step, ... as long as they lie before the
** end and within int64. A *lattice*, on which every cut is exact and costs nothing: a range of
** values, the first n, all but the first n, the other direction.
**
** A plain value: nothing to own. Pure; thread-safe.
** A cut never moves the lattice: counting from 1 by 3, restricted to 2..8, is 4, 7.
** Source: Apache Beam, CountingSource, GenerateSequence (2.8 to 2.30).
*/
#ifndef TR_READER_COUNTING_SOURCE_H
#define TR_READER_COUNTING_SOURCE_H

#include <stdint.h>

#include "range/offset_range.h"

typedef struct tr_counting_source {
  int64_t first; /* with is_empty: no meaning */
  int64_t last;  /* reached exactly: last - first is a multiple of step */
  int64_t step;  /* not 0; negative counts down */
  int is_empty;
} tr_counting_source;

/*
** [start, up_to) by `step`; counting down it is start, start + step, ... above up_to. Empty when
** up_to does not lie in step's direction. TR_INVALID_ARGUMENT: step 0.
*/
tr_code tr_counting_source_init(tr_counting_source *source, int64_t start, int64_t up_to,
                                int64_t step, tr_error *err);

/* The same without an end: through 2^63-1 (counting down: -2^63), included where it is hit. */
tr_code tr_counting_source_init_unbounded(tr_counting_source *source, int64_t start, int64_t step,
                                          tr_error *err);

/* How many numbers. The one source that has 2^64 of them says 2^64-1. */
uint64_t tr_counting_source_count(const tr_counting_source *source);

/* 1 or 0. */
int tr_counting_source_contains(const tr_counting_source *source, int64_t value);

/* Keeps the numbers from `low` to `high`, both included. low > high: none. */
void tr_counting_source_restrict(tr_counting_source *source, int64_t low, int64_t high);

/* Keeps the first `count` numbers; drops the first `count` numbers. */
void tr_counting_source_take(tr_counting_source *source, uint64_t count);
void tr_counting_source_skip(tr_counting_source *source, uint64_t count);

/*
** The same numbers from the other end. A step of -2^63 has no opposite in int64 and stays what it
** is, which first + step modulo 2^64 does not mind.
*/
void tr_counting_source_reverse(tr_counting_source *source);

/*
** The number's place in a range of offsets, and back: a restriction and a tracker know only
** increasing offsets. Counting up it is the number itself, counting down -1 - number, which
** reverses the order and never overflows.
*/
int64_t tr_counting_offset(int64_t value, int64_t step);
int64_t tr_counting_value(int64_t offset, int64_t step);

/* Keeps the numbers whose offsets lie in `range`; of a source that was not reversed. */
void tr_counting_source_restrict_offsets(tr_counting_source *source, const tr_offset_range *range);

/*
** The whole of what an unsplit reader reads, as offsets: what a tracker is opened over. [start,
** up_to) or, without `up_to` (NULL), [start, 2^63-1); empty where the source is. The end of a range
** is not in it, so that the last of an unbounded source, 2^63-1 or -2^63, is not in it either.
*/
tr_offset_range tr_counting_offsets(int64_t start, const int64_t *up_to, int64_t step);

#endif
