/*
** The first n of all tuples added, in an order in which no two different tuples are equal.
**
** A tuple is one value, or two: a key and the value that goes with it. The order is that of
** tr_tuple_compare, forwards or backwards. At most n tuples are kept. Equal tuples count each time
** that they are added.
**
** All zeros are the empty ranking. It has 64 bytes, with room for one tuple, so that a group of one
** row needs no other memory. Release it with tr_ranking_free. Thread-safety: one thread at a time.
*/
#ifndef TR_COMBINE_RANKING_H
#define TR_COMBINE_RANKING_H

#include "combine/combine.h"

#define TR_RANKING_MAX_WIDTH 2

typedef struct tr_ranking {
  uint32_t count, capacity; /* in tuples; capacity 0: the tuple is in `one` */
  size_t heap_size;         /* all bytes owned */
  union {
    tr_value one[TR_RANKING_MAX_WIDTH];
    tr_value *many; /* a heap; its root is the last tuple in order */
  } tuples;
} tr_ranking;

/* What all rankings of a function have in common. */
typedef struct tr_ranking_order {
  int width;     /* values in a tuple: 1 or 2 */
  int direction; /* 1: the least come first; -1: the greatest */
} tr_ranking_order;

/* Adds a copy of the tuple if it is among the first n. TR_NO_MEMORY: nothing changed. */
tr_code tr_ranking_add(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                       const tr_value *tuple, tr_error *err);

/* Adds all tuples of `other`. TR_NO_MEMORY: some may have been added. */
tr_code tr_ranking_merge(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                         const tr_ranking *other, tr_error *err);

/* A value of the last tuple in order. There must be one; with n = 1 it is the only one. */
const tr_value *tr_ranking_last(const tr_ranking *ranking, int column);

/*
** Gives value `column` of each tuple, in order, as a JSON array. TR_NO_MEMORY. TR_INVALID_ARGUMENT:
** JSON cannot hold a value; the message names `function`.
*/
tr_code tr_ranking_extract(const tr_ranking *ranking, tr_ranking_order order, int column,
                           const char *function, tr_combine_output *output, tr_error *err);

/* Writes the number of tuples as a varint, then their values in order. */
tr_code tr_ranking_write(const tr_ranking *ranking, tr_ranking_order order, tr_buffer *bytes,
                         tr_error *err);

/*
** Reads that into an empty ranking; nothing may follow it. TR_CORRUPT: the message names
** `function`.
*/
tr_code tr_ranking_read(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                        const char *function, tr_bytes bytes, tr_error *err);

void tr_ranking_free(tr_ranking *ranking, int width);

#endif
