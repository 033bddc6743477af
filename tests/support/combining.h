/*
** Accumulators for tests of combine functions: make, add, merge, write and read with the checks that
** every test would make, and values and texts to compare.
*/
#ifndef TR_TEST_COMBINING_H
#define TR_TEST_COMBINING_H

#include "combine/accumulator.h"

/* A function by name, which must be there. */
const tr_combine_fn *combining_function(const char *name);

/* Binds arguments that must be fine; inputs may be NULL values. */
tr_combine combining_bind(const char *name, const tr_value *arguments, int count);

/* An empty accumulator. */
void *combining_create(const tr_combine *combine);
void combining_free(const tr_combine *combine, void *state);

/* The BLOB of a state and a state of a BLOB, which must be a good one. */
tr_buffer combining_write(const tr_combine *combine, const void *state);
void *combining_read(tr_bytes blob, tr_combine *combine);

/* The output as text that tells any two apart: type and digits of REALs included. To be freed. */
char *combining_output(const tr_combine *combine, const void *state);

/* The same text of a value. */
char *combining_text(const tr_value *value, int is_json);

#endif
