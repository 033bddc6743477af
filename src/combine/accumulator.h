/*
** Accumulators as BLOBs: a header, then the function's canonical state.
**
** The header says magic, format version, the function's tag and its shape parameters, so that a
** BLOB is self-describing: it can be merged, extracted and described without being told what it is,
** and read by every later version. Byte by byte in docs/accumulators.md.
**
** Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_ACCUMULATOR_H
#define TR_COMBINE_ACCUMULATOR_H

#include "combine/combine.h"

/*
** Appends the BLOB of `state`. Of an unbound binding (combine.h) it is the empty accumulator
** without parameters, and `state` is not looked at. TR_NO_MEMORY leaves the buffer as it was.
*/
tr_code tr_accumulator_write(const tr_combine *combine, const void *state, tr_buffer *blob,
                             tr_error *err);

/*
** The same and the output where no row came, so that constant arguments are not known (combine.h).
*/
tr_code tr_accumulator_write_empty(const tr_combine_fn *fn, int argument_count, tr_buffer *blob,
                                   tr_error *err);
tr_code tr_accumulator_extract_empty(const tr_combine_fn *fn, int argument_count,
                                     tr_combine_output *output, tr_error *err);

/*
** Reads the header: `*combine` is what made the accumulator (maybe unbound), `*payload` a view of
** its state for fn->read_accumulator. TR_CORRUPT names the defect: too short, no magic, a newer
** version, a wrong checksum, an unknown function, parameters out of their limits.
*/
tr_code tr_accumulator_open(tr_bytes blob, tr_combine *combine, tr_bytes *payload, tr_error *err);

/*
** An accumulator in memory with what made it. All zero is "none yet", which BLOBs may be merged
** into. Owns its state; release with tr_accumulator_free.
*/
typedef struct tr_accumulator {
  tr_combine combine;
  void *state; /* NULL: none yet, or unbound */
} tr_accumulator;

/*
** Merges a BLOB: the first one is taken as it is; an unbound one changes nothing but none to
** unbound. TR_CORRUPT as above; TR_INVALID_ARGUMENT if it is of another function or shape, naming
** both; TR_NO_MEMORY, after which the accumulator is only good to be freed.
*/
tr_code tr_accumulator_merge(tr_accumulator *accumulator, tr_bytes blob, tr_error *err);

/* The output of an accumulator that is not "none yet"; `extract` are fn's arguments for it. */
tr_code tr_accumulator_extract(const tr_accumulator *accumulator, const tr_value *extract,
                               int count, tr_combine_output *output, tr_error *err);

void tr_accumulator_free(tr_accumulator *accumulator);

/*
** Appends what the BLOB is, as a JSON object: function, parameters, version, bytes. Errors as open.
*/
tr_code tr_accumulator_describe(tr_bytes blob, tr_buffer *json, tr_error *err);

#endif
