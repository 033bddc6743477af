/*
** Combine functions: create an accumulator, add inputs, merge accumulators, extract the output.
**
** A combine function is one `static const tr_combine_fn` in the file of its family and one line in
** registry.c; everything that aggregates (SQL aggregates, accumulator functions, group_by_fields,
** its workers) goes through this interface and knows no function by name.
**
** Laws, for every order of inputs and every way to cut them: merging an empty accumulator changes
** nothing; merge is associative and commutative in its output; extract(merge(parts)) = direct. For
** exact functions (is_exact) the written bytes are the same too: state must be canonical when
** written, and ties are broken by value.
**
** States. An accumulator lives in `state_size` bytes that the caller provides, aligned to 16, and
** never moves while it lives; it may own memory of its own, released by `free_accumulator`. Memory
** is all through base/memory.h. A failed call leaves the state valid (to be freed or used on), with
** the failed input not added.
**
** Thread-safety: a state belongs to one thread at a time; functions and bindings are read-only and
** shared. Source: Apache Beam, Combine.CombineFn; names of functions as DuckDB and BigQuery have.
*/
#ifndef TR_COMBINE_COMBINE_H
#define TR_COMBINE_COMBINE_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_COMBINE_MAX_ARGUMENTS 3

/* What an argument of a combine function is for. */
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
** position among the function's arguments; those of input arguments are NULL values. Parameters are
** numbers or NULL only, so a binding owns nothing and may be copied.
*/
typedef struct tr_combine {
  const tr_combine_fn *fn;
  int argument_count; /* how many arguments were given */
  tr_value parameters[TR_COMBINE_MAX_ARGUMENTS];
} tr_combine;

/* An output; `value` may borrow from `storage` or from the state. Free with tr_combine_output_free. */
typedef struct tr_combine_output {
  tr_value value;
  int is_json; /* the text is JSON: gets the JSON subtype in SQL */
  tr_buffer storage;
} tr_combine_output;

struct tr_combine_fn {
  const char *name; /* in SQL, lower case */
  uint8_t tag;      /* in accumulators; never used again for another function */
  int is_exact;     /* same bytes for every order and cut */
  int is_builtin;   /* SQLite has an aggregate of this name: only the accumulator form is ours */
  tr_combine_argument arguments[TR_COMBINE_MAX_ARGUMENTS + 1];
  size_t state_size;

  /* Checks a binding's parameters (NULL: none to check). TR_INVALID_ARGUMENT names argument, value. */
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
  /* Takes back a row that was added, exactly (for window frames). NULL: there is no inverse. */
  tr_code (*remove_input)(const tr_combine *combine, void *state, const tr_value *inputs,
                          tr_error *err);
  /* Adds all that is in `other`, of an equal binding, which stays as it is. */
  tr_code (*merge_accumulators)(const tr_combine *combine, void *state, const void *other,
                                tr_error *err);
  /* The output; the state stays as it is. With the binding's extract parameters. */
  tr_code (*extract_output)(const tr_combine *combine, const void *state, tr_combine_output *output,
                            tr_error *err);
  /* Appends the state's canonical bytes (accumulator.h puts magic, tag and parameters before). */
  tr_code (*write_accumulator)(const tr_combine *combine, const void *state, tr_buffer *bytes,
                               tr_error *err);
  /*
  ** Reads into `state`, which holds zeros, what write_accumulator wrote. TR_CORRUPT names the defect;
  ** never allocates more than a small multiple of bytes.size; on failure nothing is owned.
  */
  tr_code (*read_accumulator)(const tr_combine *combine, void *state, tr_bytes bytes,
                              tr_error *err);
  /* Bytes that the state owns outside itself. NULL: none, ever. */
  size_t (*heap_size)(const void *state);
  /* Releases what the state owns. NULL: nothing. */
  void (*free_accumulator)(void *state);
};

/*
** Binds `count` arguments. Values of input arguments are ignored; constant ones are checked and
** copied. TR_INVALID_ARGUMENT: wrong count, or a parameter that is NULL, not a number or out of its
** limits; the message names function, argument and value.
*/
tr_code tr_combine_bind(const tr_combine_fn *fn, const tr_value *arguments, int count,
                        tr_combine *combine, tr_error *err);

/* 1 when accumulators of the two may be merged: same function, same shape parameters. */
int tr_combine_is_same_shape(const tr_combine *a, const tr_combine *b);

void tr_combine_output_free(tr_combine_output *output);

/* The registry: all functions in the order of the documents; by name (any case); by tag. */
const tr_combine_fn *tr_combine_fn_at(int index); /* NULL behind the last */
const tr_combine_fn *tr_combine_fn_by_name(tr_bytes name);
const tr_combine_fn *tr_combine_fn_by_tag(uint8_t tag);

#endif
