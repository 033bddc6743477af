/*
** Accumulators for tests of combine functions. These helpers create, add, merge, write and read
** with the checks that every test needs, and make values and texts to compare.
*/
#ifndef TR_TEST_COMBINING_H
#define TR_TEST_COMBINING_H

#include "combine/accumulator.h"
#include "test_random.h"

/* A function by name, which must exist. */
const tr_combine_fn *combining_function(const char *name);

/* Binds arguments, which must be valid. Inputs may be NULL values. */
tr_combine combining_bind(const char *name, const tr_value *arguments, int count);

/* An empty accumulator. */
void *combining_create(const tr_combine *combine);
void combining_free(const tr_combine *combine, void *state);

/* The BLOB of a state, and the state of a BLOB, which must be valid. */
tr_buffer combining_write(const tr_combine *combine, const void *state);
void *combining_read(tr_bytes blob, tr_combine *combine);

/*
** The output as text, with the type and all digits of REALs, so that different outputs have
** different texts. The caller frees it.
*/
char *combining_output(const tr_combine *combine, const void *state);

/* The text of a value, in the same form. The caller frees it. */
char *combining_text(const tr_value *value, int is_json);

/* The arguments of one row. */
typedef struct combining_row {
  tr_value values[TR_COMBINE_MAX_ARGUMENTS];
} combining_row;

/*
** A random value, sometimes NULL: numbers near awkward ones, and, unless `is_numeric`, text in
** several scripts and BLOBs. Its bytes are constants.
*/
tr_value combining_random_value(test_random *random, int is_numeric);

/*
** `count` random rows for the function; in some there are few different values. The caller frees
** them.
*/
combining_row *combining_random_rows(test_random *random, const tr_combine_fn *fn, size_t count);

/*
** All bindings of the function with the constants 0, 1, 3, 10 and 0.5 that it accepts. Returns
** their number.
*/
enum { COMBINING_MOST_BINDINGS = 16 };
int combining_bindings(const tr_combine_fn *fn, tr_combine *bindings);

/*
** 1: the row was added. 0: the function does not accept such a value (a BLOB, for example). Other
** errors abort the test.
*/
int combining_add(const tr_combine *combine, void *state, const combining_row *row);

#endif
