/*
** Combine functions: create an accumulator, add inputs, merge accumulators, extract the output.
**
** A combine function is one `static const tr_combine_fn` in the file of its family and one line in
** registry.c; everything that aggregates (SQL aggregates, accumulator functions, group_by_fields,
** its workers) goes through this interface and knows no function by name.
**
** Laws, for every order of inputs and every way to cut them: merging an empty accumulator changes
** nothing; merge is associative and commutative in its output; extract(merge(parts)) = direct. For
** canonical functions (is_canonical) the written bytes are the same too: state must be canonical
** when written, and ties are broken by value.
**
** States. An accumulator lives in `state_size` bytes that the caller provides, aligned to 8, and
** never moves while it lives; it may own memory of its own, released by `free_accumulator`. Memory
** is all through base/memory.h. A row that fails is not added, and the state may be used on; after
** a merge that fails the state may hold a part of the other and is only good to be freed.
**
** Unbound. Where not one row was seen, nobody knows the values of constant arguments (SQL evaluates
** them row by row). Such a binding has NULL for them. It is good for two things: to extract the
** output of an empty accumulator from a state of zeros, which therefore must not depend on
** parameters; and to write an empty accumulator, which may be merged with any of its function.
**
** Errors name the function: `top_largest(): argument n = -1: must be ...`.
**
** Thread-safety: a state belongs to one thread at a time; functions and bindings are read-only and
** shared. Source: Apache Beam, Combine.CombineFn; names of functions as DuckDB and BigQuery have.
*/
#ifndef TR_COMBINE_COMBINE_H
#define TR_COMBINE_COMBINE_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_COMBINE_MAX_ARGUMENTS 3

/* What an argument of a combine function is for. Those for extract_output come last. */
typedef enum tr_argument_role {
  TR_ARGUMENT_INPUT = 1, /* differs from row to row: goes to add_input */
  TR_ARGUMENT_SHAPE,     /* constant, part of the accumulator (n of top_largest) */
  TR_ARGUMENT_EXTRACT    /* constant, only for extract_output (q of approx_quantile) */
} tr_argument_role;

typedef struct tr_combine_argument {
  const char *name; /* as the documents call it; NULL ends the list */
  tr_argument_role role;
  int is_optional; /* only the last ones may be */
} tr_combine_argument;

typedef struct tr_combine_fn tr_combine_fn;

/*
** A function with its constant arguments: what tr_combine_bind makes. The parameters stand at their
** position among the function's arguments; those of input arguments, and what was not given, are
** NULL values. Parameters are numbers, so a binding owns nothing and may be copied.
*/
typedef struct tr_combine {
  const tr_combine_fn *fn;
  int argument_count; /* how many arguments were given */
  tr_value parameters[TR_COMBINE_MAX_ARGUMENTS];
  /*
  ** Fills `bytes` with random bits; whoever binds sets it (to sqlite3_randomness, say) if
  ** tr_combine_is_random says so. Must be thread-safe if the binding is used by several threads.
  */
  void (*randomness)(int size, void *bytes);
} tr_combine;

/*
** An output; `value` may borrow from `storage` or from the state. Free with tr_combine_output_free.
*/
typedef struct tr_combine_output {
  tr_value value;
  int is_json; /* the text is JSON: gets the JSON subtype in SQL */
  tr_buffer storage;
} tr_combine_output;

/* Rows that are added together, each to an accumulator of its own or of several rows. */
typedef struct tr_combine_rows {
  const tr_combine *combine;
  uint8_t *const *states; /* the accumulator of row i is at states[i] + offset */
  size_t offset;
  const tr_value *inputs; /* the arguments of row i are at inputs + i * stride */
  size_t stride;
  int count;
} tr_combine_rows;

static inline void *tr_combine_rows_state(const tr_combine_rows *rows, int row) {
  return rows->states[row] + rows->offset;
}

static inline const tr_value *tr_combine_rows_input(const tr_combine_rows *rows, int row) {
  return rows->inputs + (size_t)row * rows->stride;
}

struct tr_combine_fn {
  const char *name; /* in SQL, lower case */
  uint8_t tag;      /* in accumulators; never used again for another function */
  int is_canonical; /* same bytes for every order and cut */
  int is_builtin;   /* SQLite has an aggregate of this name: only the accumulator form is ours */
  /*
  ** Inputs are numbers: the host converts text and BLOBs as SQLite's sum() does, which is what
  ** sqlite3_value_numeric_type says (INTEGER stays, all else but NULL is sqlite3_value_double).
  ** TEXT or BLOB that comes here all the same is TR_INVALID_ARGUMENT.
  */
  int is_numeric;
  int random_below; /* with fewer arguments than this it draws random numbers; 0: never */
  tr_combine_argument arguments[TR_COMBINE_MAX_ARGUMENTS + 1];
  size_t state_size;

  /*
  ** Checks a binding's parameters, which are numbers where i < argument_count (NULL: none to
  ** check). TR_INVALID_ARGUMENT names argument and value.
  */
  tr_code (*check_parameters)(const tr_combine *combine, tr_error *err);
  /* Makes an empty accumulator in `state`, which holds zeros. NULL: zeros are one. */
  tr_code (*create_accumulator)(const tr_combine *combine, void *state, tr_error *err);
  /*
  ** Adds one row. `inputs` has one value per argument given, those that are no inputs undefined.
  ** Every row comes here, NULLs included; most functions ignore a row whose input is NULL.
  ** Bytes are borrowed for the call.
  */
  tr_code (*add_input)(const tr_combine *combine, void *state, const tr_value *inputs,
                       tr_error *err);
  /*
  ** Adds rows from number `first` on as long as each takes a few steps and no memory, and returns
  ** the number of the first that does not, which add_input has to add. For whoever adds millions of
  ** rows. NULL: there are no such rows.
  */
  int (*add_rows)(const tr_combine_rows *rows, int first);
  /* Takes back a row that was added, exactly (for window frames). NULL: there is no inverse. */
  tr_code (*remove_input)(const tr_combine *combine, void *state, const tr_value *inputs,
                          tr_error *err);
  /* Adds all that is in `other`, of an equal binding, which stays as it is. */
  tr_code (*merge_accumulators)(const tr_combine *combine, void *state, const void *other,
                                tr_error *err);
  /*
  ** The output; the state stays as it is. With the binding's extract parameters. `output` holds
  ** zeros; what it owns after a failure is still the caller's to free.
  */
  tr_code (*extract_output)(const tr_combine *combine, const void *state, tr_combine_output *output,
                            tr_error *err);
  /* Appends the state's canonical bytes (accumulator.h puts magic, tag and parameters before). */
  tr_code (*write_accumulator)(const tr_combine *combine, const void *state, tr_buffer *bytes,
                               tr_error *err);
  /*
  ** Reads into `state`, which holds zeros, what write_accumulator wrote. TR_CORRUPT names the
  ** defect; never allocates more than a small multiple of bytes.size; on failure nothing is owned.
  */
  tr_code (*read_accumulator)(const tr_combine *combine, void *state, tr_bytes bytes,
                              tr_error *err);
  /* Bytes that the state owns outside itself; O(1). NULL: none, ever. */
  size_t (*heap_size)(const void *state);
  /* Releases what the state owns. NULL: nothing. */
  void (*free_accumulator)(void *state);
};

/*
** Binds `count` arguments. Values of input arguments are ignored; constant ones are checked and
** copied (an integral REAL as INTEGER). TR_INVALID_ARGUMENT: wrong count, or a parameter that is
** NULL, not a number or out of its limits.
*/
tr_code tr_combine_bind(const tr_combine_fn *fn, const tr_value *arguments, int count,
                        tr_combine *combine, tr_error *err);

/* The same without the arguments that only extract_output needs: for accumulators. */
tr_code tr_combine_bind_accumulator(const tr_combine_fn *fn, const tr_value *arguments, int count,
                                    tr_combine *combine, tr_error *err);

/*
** Gives a binding of an accumulator its `count` arguments for extract_output. TR_INVALID_ARGUMENT
** as above; then the binding is as before.
*/
tr_code tr_combine_bind_extract(tr_combine *combine, const tr_value *arguments, int count,
                                tr_error *err);

/*
** The first argument that is constant in the binding and another value in `arguments` (as many as
** given), or -1 if there is none: whoever sees the arguments of every row asks for every row.
*/
int tr_combine_changed_argument(const tr_combine *combine, const tr_value *arguments);

/* A binding of `count` arguments (those for extract_output may be missing) with values unknown. */
tr_combine tr_combine_unbound(const tr_combine_fn *fn, int count);
int tr_combine_is_bound(const tr_combine *combine);

/* How many arguments it takes; `for_accumulator` leaves out those for extract_output. */
void tr_combine_argument_counts(const tr_combine_fn *fn, int for_accumulator, int *least,
                                int *most);

/* How many of the given arguments belong to the accumulator: all but those for extract_output. */
int tr_combine_accumulator_arguments(const tr_combine *combine);

/* 1 when the binding needs a source of random bits. */
int tr_combine_is_random(const tr_combine *combine);

/* For check_parameters: argument `index` must be an INTEGER within limits, or is not given. */
tr_code tr_combine_check_integer(const tr_combine *combine, int index, int64_t minimum,
                                 int64_t maximum, tr_error *err);

/*
** 1 when accumulators of the two may be merged: same function, same number of arguments (not
** counting those for extract_output), same shape parameters.
*/
int tr_combine_is_same_shape(const tr_combine *a, const tr_combine *b);

static inline void tr_combine_output_free(tr_combine_output *output) {
  if (output->storage.data != NULL) tr_buffer_free(&output->storage);
  *output = (tr_combine_output){0};
}

/* The registry: all functions in the order of the documents; by name (any case); by tag. */
const tr_combine_fn *tr_combine_fn_at(int index); /* NULL behind the last */
const tr_combine_fn *tr_combine_fn_by_name(tr_bytes name);
const tr_combine_fn *tr_combine_fn_by_tag(uint8_t tag);

#endif
