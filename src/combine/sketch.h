/*
** Accumulators as Apache DataSketches' sketches, and back: what sketch_of and accumulator_of do.
**
** A sketch does not say what made it, nor how its items are stored. So the way in names a kind: a
** function, and, where it could be one of several, the type of the items:
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

/* The kind of that name (any case), or NULL. */
const tr_sketch_kind *tr_sketch_kind_of(tr_bytes name);
const tr_combine_fn *tr_sketch_kind_fn(const tr_sketch_kind *kind);
/* The names of all kinds, from 0 on; NULL behind the last. */
const char *tr_sketch_kind_name(size_t index);

/*
** Appends the sketch of a state (ignored if `combine` is unbound: an empty one). Numbers of
** quantiles go out as doubles. TR_INVALID_ARGUMENT: the function has no sketch, or the state holds
** what no single sketch can: numbers and text, or REALs and BLOBs in a top count.
*/
tr_code tr_sketch_write(const tr_combine *combine, const void *state, tr_buffer *sketch,
                        tr_error *err);

/*
** Makes `state`, which holds zeros, an accumulator of `combine` with what the sketch has seen. On
** failure nothing is owned: TR_CORRUPT names the defect of the sketch.
*/
tr_code tr_sketch_read(const tr_sketch_kind *kind, const tr_combine *combine, tr_bytes sketch,
                       void *state, tr_error *err);

#endif
