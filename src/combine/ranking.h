/*
** The first n of all tuples added, in an order that never leaves two different ones equal.
**
** A tuple is one value, or two: what orders and what goes with it. The order is tr_tuple_compare's,
** forwards or backwards. Up to n are kept; equal tuples count as often as they were added.
**
** All zero is the empty ranking, 64 bytes, with room for one tuple in itself: a group of one row
** needs no memory beyond that. Release with tr_ranking_free. Thread-safety: one thread at a time.
*/
#ifndef TR_COMBINE_RANKING_H
#define TR_COMBINE_RANKING_H

#include "combine/combine.h"

#define TR_RANKING_MAX_WIDTH 2

typedef struct tr_ranking {
  uint32_t count, capacity; /* in tuples; capacity 0: the tuple is in `one` */
  size_t heap_size;         /* bytes owned, all in all */
  union {
    tr_value one[TR_RANKING_MAX_WIDTH];
    tr_value *many; /* a heap whose root is the last in order */
  } tuples;
} tr_ranking;

/* What is the same for all rankings of a function. */
typedef struct tr_ranking_order {
  int width;     /* values of a tuple, 1 or 2 */
  int direction; /* 1: the least come first; -1: the greatest */
} tr_ranking_order;

/* Adds a copy of the tuple if it is among the first n. TR_NO_MEMORY: nothing has changed. */
tr_code tr_ranking_add(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                       const tr_value *tuple, tr_error *err);

/* Adds all tuples of `other`. TR_NO_MEMORY: some may have been added. */
tr_code tr_ranking_merge(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                         const tr_ranking *other, tr_error *err);

/* A value of the last tuple in order, which there is: of the only one where n is 1. */
const tr_value *tr_ranking_last(const tr_ranking *ranking, int column);

/*
** Gives value `column` of each tuple, in order, as a JSON array. TR_NO_MEMORY; TR_INVALID_ARGUMENT,
** in the name of `function`, where JSON cannot hold a value.
*/
tr_code tr_ranking_extract(const tr_ranking *ranking, tr_ranking_order order, int column,
                           const char *function, tr_combine_output *output, tr_error *err);

/* Writes the number of tuples as a varint, then their values in order. */
tr_code tr_ranking_write(const tr_ranking *ranking, tr_ranking_order order, tr_buffer *bytes,
                         tr_error *err);

/* Reads that, and nothing else, into an empty ranking. TR_CORRUPT in the name of `function`. */
tr_code tr_ranking_read(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                        const char *function, tr_bytes bytes, tr_error *err);

void tr_ranking_free(tr_ranking *ranking, int width);

#endif
