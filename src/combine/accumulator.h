/*
** Accumulators as BLOBs: a header, then the function's canonical state.
**
** The header says magic, format version, the function's tag and its shape parameters, so that a BLOB
** is self-describing: it can be merged, extracted and described without being told what it is, and
** read by every later version. Byte by byte in docs/accumulators.md.
**
** Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_ACCUMULATOR_H
#define TR_COMBINE_ACCUMULATOR_H

#include "combine/combine.h"

/* Appends the BLOB of `state`. */
tr_code tr_accumulator_write(const tr_combine *combine, const void *state, tr_buffer *blob,
                             tr_error *err);

/*
** Reads the header: `*combine` is what made the accumulator, `*payload` a view of its state for
** fn->read_accumulator. TR_CORRUPT names the defect: too short, no magic, a newer version, an unknown
** function, parameters out of their limits.
*/
tr_code tr_accumulator_open(tr_bytes blob, tr_combine *combine, tr_bytes *payload, tr_error *err);

/* Appends what the BLOB is, as a JSON object: function, parameters, version, bytes. Errors as open. */
tr_code tr_accumulator_describe(tr_bytes blob, tr_buffer *json, tr_error *err);

#endif
