/*
** min(x), max(x) and any_value(x): one of the values that are not NULL; NULL if there is none.
**
** Values are compared in SQLite's order (BINARY), and then in the order of held_value.h if SQLite
** calls two different values equal. So every order of the inputs gives the same value. any_value
** may return any value; it returns the least, which does not depend on the order or the cutting.
**
** State: the value. Bytes: the value.
*/
#include "combine/codec.h"
#include "combine/functions.h"
#include "combine/held_value.h"

/* Keeps `value` if it is the first, or below (`side` -1) or above (1) the one that is held. */
static tr_code take(tr_value *held, const tr_value *value, int side, tr_error *err) {
  if (value->type == TR_NULL) return TR_OK;
  if (held->type != TR_NULL && side * tr_tuple_compare(value, held, 1) <= 0) return TR_OK;
  tr_value taken;
  tr_code code = tr_held_value_set(&taken, value, err);
  if (code != TR_OK) return code;
  tr_held_value_free(held);
  *held = taken;
  return TR_OK;
}

static tr_code add_least(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)combine;
  return take(state, &inputs[0], -1, err);
}

static tr_code add_greatest(const tr_combine *combine, void *state, const tr_value *inputs,
                            tr_error *err) {
  (void)combine;
  return take(state, &inputs[0], 1, err);
}

/* Whether `x` replaces `held`. */
#define IS_BEYOND(x, held, side) ((side) < 0 ? (x) < (held) : (x) > (held))

/*
** Adds NULLs, and numbers of the same type as the one that is held. Different REALs that are equal
** can only be 0.0 and -0.0; add_input compares those, and all else.
*/
static inline int add_rows(const tr_combine_rows *rows, int first, int side) {
  for (int i = first; i < rows->count; i++) {
    const tr_value *input = tr_combine_rows_input(rows, i);
    tr_value *held = tr_combine_rows_state(rows, i);
    if (input->type == TR_NULL) continue;
    if (input->type != held->type) return i;
    if (input->type == TR_INTEGER) {
      if (IS_BEYOND(input->integer, held->integer, side)) held->integer = input->integer;
    } else if (input->type == TR_REAL && (input->real != 0 || held->real != 0)) {
      if (IS_BEYOND(input->real, held->real, side)) held->real = input->real;
    } else {
      return i;
    }
  }
  return rows->count;
}

static int add_least_rows(const tr_combine_rows *rows, int first) {
  return add_rows(rows, first, -1);
}

static int add_greatest_rows(const tr_combine_rows *rows, int first) {
  return add_rows(rows, first, 1);
}

static tr_code merge_least(const tr_combine *combine, void *state, const void *other,
                           tr_error *err) {
  (void)combine;
  return take(state, other, -1, err);
}

static tr_code merge_greatest(const tr_combine *combine, void *state, const void *other,
                              tr_error *err) {
  (void)combine;
  return take(state, other, 1, err);
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  output->value = *(const tr_value *)state;
  return TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  return tr_put_value(bytes, state, err);
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_decoder from = {bytes, combine->fn->name};
  tr_value value = {0};
  tr_code code = tr_take_value(&from, "value", &value, err);
  if (code == TR_OK) code = tr_take_end(&from, err);
  return code == TR_OK ? tr_held_value_set(state, &value, err) : code;
}

static size_t heap_size(const void *state) {
  return tr_held_value_size(state);
}

static void free_accumulator(void *state) {
  tr_held_value_free(state);
}

const tr_combine_fn tr_combine_min = {
    .name = "min",
    .tag = 8,
    .is_canonical = 1,
    .is_builtin = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_value),
    .add_input = add_least,
    .add_rows = add_least_rows,
    .merge_accumulators = merge_least,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_max = {
    .name = "max",
    .tag = 9,
    .is_canonical = 1,
    .is_builtin = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_value),
    .add_input = add_greatest,
    .add_rows = add_greatest_rows,
    .merge_accumulators = merge_greatest,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_any_value = {
    .name = "any_value",
    .tag = 10,
    .is_canonical = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_value),
    .add_input = add_least,
    .add_rows = add_least_rows,
    .merge_accumulators = merge_least,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};
