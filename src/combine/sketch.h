/*
** Converts accumulators to Apache DataSketches' sketches and back: sketch_of and accumulator_of.
**
** A sketch does not say which function made it, nor in which form its items are. So to read one,
** the caller names a kind: a function and, if there are several forms, the type of the items:
**
**   approx_count_distinct                      HLL
**   approx_quantile[s], approx_quantile[s] real    KLL of doubles
**   approx_quantile[s] float                   KLL of floats (read only)
**   approx_quantile[s] integer                 KLL of 64-bit integers
**   approx_quantile[s] text                    KLL of strings
**   approx_top_count integer                   frequent items, 64-bit integers
**   approx_top_count text                      frequent items, strings
**
** Pure; thread-safe.
*/
#ifndef TR_COMBINE_SKETCH_H
#define TR_COMBINE_SKETCH_H

#include "combine/combine.h"

typedef struct tr_sketch_kind tr_sketch_kind;

/* The kind with that name (any case), or NULL. */
const tr_sketch_kind *tr_sketch_kind_of(tr_bytes name);
const tr_combine_fn *tr_sketch_kind_fn(const tr_sketch_kind *kind);
/* The names of all kinds, from 0 on; NULL after the last. */
const char *tr_sketch_kind_name(size_t index);

/*
** Appends the sketch of a state. If `combine` is unbound, `state` is ignored and the sketch is
** empty. Numbers of quantiles become doubles. TR_INVALID_ARGUMENT: the function has no sketch, or
** no single sketch can hold the state: it has both numbers and text, or REALs or BLOBs in a top
** count.
*/
tr_code tr_sketch_write(const tr_combine *combine, const void *state, tr_buffer *sketch,
                        tr_error *err);

/*
** Makes `state`, which is all zeros, an accumulator of `combine` with the values of the sketch.
** TR_CORRUPT: the message names the defect of the sketch. After a failure `state` owns nothing.
*/
tr_code tr_sketch_read(const tr_sketch_kind *kind, const tr_combine *combine, tr_bytes sketch,
                       void *state, tr_error *err);

#endif
