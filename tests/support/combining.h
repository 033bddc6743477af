/*
** Accumulators for tests of combine functions: make, add, merge, write and read with the checks
** that every test would make, and values and texts to compare.
*/
#ifndef TR_TEST_COMBINING_H
#define TR_TEST_COMBINING_H

#include "combine/accumulator.h"
#include "test_random.h"

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

/* Arguments of one row. */
typedef struct combining_row {
  tr_value values[TR_COMBINE_MAX_ARGUMENTS];
} combining_row;

/*
** A random value, NULL now and then: numbers from where they are awkward, and, unless `is_numeric`,
** text in several scripts and BLOBs. Its bytes are constants.
*/
tr_value combining_random_value(test_random *random, int is_numeric);

/* `count` random rows for the function, with few different values in some. To be freed. */
combining_row *combining_random_rows(test_random *random, const tr_combine_fn *fn, size_t count);

/* All bindings of the function with constants 0, 1, 3, 10 and 0.5, as far as it takes them. */
enum { COMBINING_MOST_BINDINGS = 16 };
int combining_bindings(const tr_combine_fn *fn, tr_combine *bindings);

/* Adds a row that must be fine; 0 if the function takes no such value (a BLOB, say). */
int combining_add(const tr_combine *combine, void *state, const combining_row *row);

#endif
