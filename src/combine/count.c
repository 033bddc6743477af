/*
** count(x) counts the rows in which x is not NULL; count(*), without an argument, counts all rows.
**
** State: a counter. Bytes: a varint.
*/
#include "combine/codec.h"
#include "combine/functions.h"

typedef struct count_state {
  uint64_t count;
} count_state;

static int is_counted(const tr_combine *combine, const tr_value *inputs) {
  return combine->argument_count == 0 || inputs[0].type != TR_NULL;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)err;
  ((count_state *)state)->count += (uint64_t)is_counted(combine, inputs);
  return TR_OK;
}

static int add_rows(const tr_combine_rows *rows, int first) {
  int counts_all = rows->combine->argument_count == 0;
  if (rows->has_one_state) {
    uint64_t count = 0;
    for (int i = first; i < rows->count; i++) {
      count += counts_all || tr_combine_rows_input(rows, i)->type != TR_NULL;
    }
    if (first < rows->count) ((count_state *)tr_combine_rows_state(rows, first))->count += count;
    return rows->count;
  }
  for (int i = first; i < rows->count; i++) {
    count_state *s = tr_combine_rows_state(rows, i);
    s->count += counts_all || tr_combine_rows_input(rows, i)->type != TR_NULL;
  }
  return rows->count;
}

static tr_code remove_input(const tr_combine *combine, void *state, const tr_value *inputs,
                            tr_error *err) {
  (void)err;
  ((count_state *)state)->count -= (uint64_t)is_counted(combine, inputs);
  return TR_OK;
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  count_state *mine = state;
  const count_state *theirs = other;
  if (theirs->count > (uint64_t)INT64_MAX - mine->count) {
    return tr_error_set(err, TR_OVERFLOW, "%s(): integer overflow", combine->fn->name);
  }
  mine->count += theirs->count;
  return TR_OK;
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  output->value.type = TR_INTEGER;
  output->value.integer = (int64_t)((const count_state *)state)->count;
  return TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  return tr_put_varint(bytes, ((const count_state *)state)->count, err);
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_decoder from = {bytes, combine->fn->name};
  count_state read;
  tr_code code = tr_take_varint(&from, "count", &read.count, err);
  if (code == TR_OK && read.count > INT64_MAX) {
    return tr_take_fail(&from, "count", "needs more than 63 bits", err);
  }
  if (code == TR_OK) code = tr_take_end(&from, err);
  if (code == TR_OK) *(count_state *)state = read;
  return code;
}

const tr_combine_fn tr_combine_count = {
    .name = "count",
    .tag = 1,
    .is_canonical = 1,
    .is_builtin = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 1}},
    .state_size = sizeof(count_state),
    .add_input = add_input,
    .add_rows = add_rows,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
};
