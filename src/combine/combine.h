/*
** Combine functions: they create an accumulator, add inputs, merge accumulators and extract an
** output.
**
** A combine function is one `static const tr_combine_fn` in the file of its family, and one line in
** registry.c. Everything that aggregates (the SQL aggregates, the accumulator functions,
** group_by_fields and its workers) uses this interface. It knows no function by name.
**
** Laws. They hold for every order of the inputs and every way to cut them into parts. Merging an
** empty accumulator changes nothing. For canonical functions (is_canonical), merging parts in any
** order gives the output, and the bytes when written, of one accumulator to which all rows were
** added. For that they write the state in one canonical form, and they break ties by value. For the
** others, which are sketches, the output may differ within the error that the function allows.
**
** States. The caller provides `state_size` bytes, aligned to 8. The accumulator lives there and
** does not move. It may own other memory, which `free_accumulator` releases. All memory goes
** through base/memory.h. If adding a row fails, the row is not added and the state remains usable.
** If a merge fails, the state may hold a part of the other one; the caller may only free it.
**
** Unbound. SQL evaluates constant arguments row by row. So if there was no row, their values are
** unknown. A binding without them is called unbound: its constant arguments are NULL. It can do two
** things. It extracts the output of an empty accumulator, from a state of zeros; so that output
** must not depend on the parameters. And it writes an empty accumulator, which can be merged with
** any accumulator of the same function.
**
** Errors name the function: `top_largest(): argument n = -1: must be ...`.
**
** Thread-safety: one thread at a time may use a state. Functions and bindings are read-only and may
** be shared.
** Source: Apache Beam, Combine.CombineFn. The functions are named as in DuckDB and BigQuery.
*/
#ifndef TR_COMBINE_COMBINE_H
#define TR_COMBINE_COMBINE_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_COMBINE_MAX_ARGUMENTS 3

/* What an argument of a combine function is for. EXTRACT arguments come after all others. */
typedef enum tr_argument_role {
  TR_ARGUMENT_INPUT = 1, /* differs from row to row; passed to add_input */
  TR_ARGUMENT_SHAPE,     /* constant; part of the accumulator (n of top_largest) */
  TR_ARGUMENT_EXTRACT    /* constant; used only by extract_output (q of approx_quantile) */
} tr_argument_role;

typedef struct tr_combine_argument {
  const char *name; /* as in the documentation; NULL ends the list */
  tr_argument_role role;
  int is_optional; /* only the last arguments may be optional */
} tr_combine_argument;

typedef struct tr_combine_fn tr_combine_fn;

/*
** A function with its constant arguments; tr_combine_bind makes it. Parameter i is the value of
** argument i. It is NULL for input arguments and for arguments that were not given. Parameters are
** numbers, so a binding owns nothing and may be copied.
*/
typedef struct tr_combine {
  const tr_combine_fn *fn;
  int argument_count; /* how many arguments were given */
  tr_value parameters[TR_COMBINE_MAX_ARGUMENTS];
  /*
  ** Fills `bytes` with random bits. If tr_combine_is_random returns 1, the caller of
  ** tr_combine_bind sets it, for example to sqlite3_randomness. It must be thread-safe if several
  ** threads use the binding.
  */
  void (*randomness)(int size, void *bytes);
} tr_combine;

/*
** An output. `value` may borrow from `storage` or from the state. Free it with
** tr_combine_output_free.
*/
typedef struct tr_combine_output {
  tr_value value;
  int is_json; /* the text is JSON and gets the JSON subtype in SQL */
  tr_buffer storage;
} tr_combine_output;

/* Rows to be added together. Each has its accumulator; several rows may have the same one. */
typedef struct tr_combine_rows {
  const tr_combine *combine;
  uint8_t *const *states; /* the accumulator of row i is at states[i] + offset */
  int has_one_state;      /* all rows have the same: it can be kept in registers meanwhile */
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
  const char *name; /* in SQL; lower case */
  uint8_t tag;      /* identifies the function in stored accumulators; never reused */
  int is_canonical; /* the written bytes depend on neither the order nor the cutting */
  int is_builtin;   /* SQLite has this aggregate; we add only its accumulator functions */
  /*
  ** The inputs are numbers. The host converts text and BLOBs as SQLite's sum() does, by
  ** sqlite3_value_numeric_type: INTEGER stays, and everything else but NULL becomes
  ** sqlite3_value_double. A TEXT or BLOB input that was not converted is TR_INVALID_ARGUMENT.
  */
  int is_numeric;
  int random_below; /* draws random numbers if it has fewer arguments than this; 0: never */
  tr_combine_argument arguments[TR_COMBINE_MAX_ARGUMENTS + 1];
  size_t state_size;

  /*
  ** Checks the parameters of a binding. For i < argument_count, the parameters of constant
  ** arguments are numbers. NULL: there is nothing to check. TR_INVALID_ARGUMENT: the message names
  ** the argument and its value.
  */
  tr_code (*check_parameters)(const tr_combine *combine, tr_error *err);
  /*
  ** Makes an empty accumulator in `state`, which is all zeros. NULL: zeros are an empty
  ** accumulator.
  */
  tr_code (*create_accumulator)(const tr_combine *combine, void *state, tr_error *err);
  /*
  ** Adds one row. `inputs` has one value for each argument that was given; only those of input
  ** arguments are defined. This is called for every row, NULLs included; most functions ignore a
  ** row whose input is NULL. Text and BLOBs are borrowed for the call.
  */
  tr_code (*add_input)(const tr_combine *combine, void *state, const tr_value *inputs,
                       tr_error *err);
  /*
  ** Adds rows, from row `first` on, as long as each takes only a few steps and no memory. Returns
  ** the number of the first row that takes more, or rows->count. The caller adds that row with
  ** add_input. This is the fast way to add millions of rows. NULL: no row can be added this way.
  */
  int (*add_rows)(const tr_combine_rows *rows, int first);
  /*
  ** Removes a row that was added before, exactly (for window frames). NULL: rows cannot be removed.
  */
  tr_code (*remove_input)(const tr_combine *combine, void *state, const tr_value *inputs,
                          tr_error *err);
  /* Adds everything in `other` to `state`. Both have equal bindings. `other` does not change. */
  tr_code (*merge_accumulators)(const tr_combine *combine, void *state, const void *other,
                                tr_error *err);
  /*
  ** Returns the output, by the binding's extract parameters. The state does not change. `output` is
  ** all zeros at the start; the caller frees it after a failure too.
  */
  tr_code (*extract_output)(const tr_combine *combine, const void *state, tr_combine_output *output,
                            tr_error *err);
  /*
  ** Appends the state in canonical form. accumulator.h puts the magic, tag and parameters before
  ** it.
  */
  tr_code (*write_accumulator)(const tr_combine *combine, const void *state, tr_buffer *bytes,
                               tr_error *err);
  /*
  ** Reads what write_accumulator wrote into `state`, which is all zeros. TR_CORRUPT: the message
  ** names the defect. It allocates at most a small multiple of bytes.size. After a failure `state`
  ** owns nothing.
  */
  tr_code (*read_accumulator)(const tr_combine *combine, void *state, tr_bytes bytes,
                              tr_error *err);
  /* The bytes that the state owns outside itself, in O(1). NULL: it never owns any. */
  size_t (*heap_size)(const void *state);
  /* Releases what the state owns. NULL: it owns nothing. */
  void (*free_accumulator)(void *state);
};

/*
** Binds `count` arguments. Values of input arguments are ignored. Constant arguments are checked
** and copied; a REAL that is a whole number becomes an INTEGER. TR_INVALID_ARGUMENT: the count is
** wrong, or a parameter is NULL, not a number or out of range.
*/
tr_code tr_combine_bind(const tr_combine_fn *fn, const tr_value *arguments, int count,
                        tr_combine *combine, tr_error *err);

/* The same for an accumulator: `arguments` does not have those that only extract_output needs. */
tr_code tr_combine_bind_accumulator(const tr_combine_fn *fn, const tr_value *arguments, int count,
                                    tr_combine *combine, tr_error *err);

/*
** Adds the `count` extract arguments to the binding of an accumulator. TR_INVALID_ARGUMENT: as for
** tr_combine_bind; the binding is unchanged.
*/
tr_code tr_combine_bind_extract(tr_combine *combine, const tr_value *arguments, int count,
                                tr_error *err);

/*
** Compares the constant arguments of the binding with those in `arguments`, which has as many
** values. Returns the first that has another value, or -1. An argument that must be constant is
** checked with this in every row.
*/
int tr_combine_changed_argument(const tr_combine *combine, const tr_value *arguments);

/* A binding of `count` arguments with unknown values. Extract arguments may be missing. */
tr_combine tr_combine_unbound(const tr_combine_fn *fn, int count);
int tr_combine_is_bound(const tr_combine *combine);

/* The least and the greatest number of arguments; `for_accumulator`: without extract arguments. */
void tr_combine_argument_counts(const tr_combine_fn *fn, int for_accumulator, int *least,
                                int *most);

/* How many of the given arguments belong to the accumulator: all but the extract arguments. */
int tr_combine_accumulator_arguments(const tr_combine *combine);

/* 1 if the binding needs a source of random bits, else 0. */
int tr_combine_is_random(const tr_combine *combine);

/*
** For check_parameters. TR_OK: argument `index` was not given, or is an INTEGER from `minimum` to
** `maximum`. Else TR_INVALID_ARGUMENT.
*/
tr_code tr_combine_check_integer(const tr_combine *combine, int index, int64_t minimum,
                                 int64_t maximum, tr_error *err);

/*
** 1 if accumulators of the two bindings may be merged: they have the same function, the same number
** of arguments (without extract arguments), and the same shape parameters.
*/
int tr_combine_is_same_shape(const tr_combine *a, const tr_combine *b);

static inline void tr_combine_output_free(tr_combine_output *output) {
  if (output->storage.data != NULL) tr_buffer_free(&output->storage);
  *output = (tr_combine_output){0};
}

/*
** The registry: all functions, in the order of the documentation; by name (any case); by tag. NULL
** if there is none.
*/
const tr_combine_fn *tr_combine_fn_at(int index); /* NULL after the last */
const tr_combine_fn *tr_combine_fn_by_name(tr_bytes name);
const tr_combine_fn *tr_combine_fn_by_tag(uint8_t tag);

#endif
