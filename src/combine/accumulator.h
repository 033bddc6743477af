/*
** Accumulators as BLOBs: a header, then the state of the function in canonical form.
**
** The header has a magic, the format version, the function's tag and its shape parameters. So a
** BLOB describes itself: it can be merged, extracted and described without any other information,
** and every later version can read it. docs/accumulators.md has the format, byte by byte.
**
** Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_ACCUMULATOR_H
#define TR_COMBINE_ACCUMULATOR_H

#include "combine/combine.h"

/*
** Appends the BLOB of `state`. If the binding is unbound (combine.h), this is an empty accumulator
** without parameters, and `state` is ignored. TR_NO_MEMORY: the buffer is unchanged.
*/
tr_code tr_accumulator_write(const tr_combine *combine, const void *state, tr_buffer *blob,
                             tr_error *err);

/*
** The BLOB, and the output, if there was no row, so that the constant arguments are unknown
** (combine.h).
*/
tr_code tr_accumulator_write_empty(const tr_combine_fn *fn, int argument_count, tr_buffer *blob,
                                   tr_error *err);
tr_code tr_accumulator_extract_empty(const tr_combine_fn *fn, int argument_count,
                                     tr_combine_output *output, tr_error *err);

/*
** Reads the header. `*combine` becomes the binding of the accumulator, which may be unbound.
** `*payload` becomes a view of its state, for fn->read_accumulator. TR_CORRUPT: the BLOB is too
** short, has no magic, a newer version, a wrong checksum, an unknown function, or parameters out of
** range. The message says which.
*/
tr_code tr_accumulator_open(tr_bytes blob, tr_combine *combine, tr_bytes *payload, tr_error *err);

/*
** An accumulator in memory, with its binding. All zeros mean "none yet"; BLOBs may be merged into
** it. It owns its state; release it with tr_accumulator_free.
*/
typedef struct tr_accumulator {
  tr_combine combine;
  void *state; /* NULL: none yet, or unbound */
} tr_accumulator;

/*
** Merges a BLOB. The BLOB replaces an accumulator that is "none yet" or unbound. An unbound BLOB
** does not change an accumulator that is bound. TR_CORRUPT: as tr_accumulator_open, or the state is
** corrupt. TR_INVALID_ARGUMENT: the BLOB is of another function or shape; the message names both.
** TR_NO_MEMORY, and other errors of fn->merge_accumulators: the accumulator may only be freed.
*/
tr_code tr_accumulator_merge(tr_accumulator *accumulator, tr_bytes blob, tr_error *err);

/*
** The output of an accumulator, which must not be "none yet". `extract` has `count` arguments for
** it.
*/
tr_code tr_accumulator_extract(const tr_accumulator *accumulator, const tr_value *extract,
                               int count, tr_combine_output *output, tr_error *err);

void tr_accumulator_free(tr_accumulator *accumulator);

/*
** Appends a description of the BLOB as a JSON object: function, parameters, version, bytes.
** TR_CORRUPT: as tr_accumulator_merge. After an error the buffer is unchanged.
*/
tr_code tr_accumulator_describe(tr_bytes blob, tr_buffer *json, tr_error *err);

#endif
