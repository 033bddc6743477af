/*
** rows, first and first_by: combine functions that only group_by_fields uses. The results of rows
** and first depend on the order of the rows, so they are not offered as aggregates. None of the
** three has a binary form.
*/
#include "combine/held_value.h"
#include "group_by_fields_parts.h"

/* --- rows: a buffer of JSON texts with commas between ---------------------------------------- */

static tr_code append(tr_buffer *rows, tr_bytes more, tr_error *err) {
  tr_code code = tr_buffer_reserve(rows, more.size + 1, err);
  if (code == TR_OK && rows->size > 0) code = tr_buffer_append_byte(rows, ',', err);
  return code == TR_OK ? tr_buffer_append(rows, more, err) : code;
}

static tr_code rows_add(const tr_combine *combine, void *state, const tr_value *inputs,
                        tr_error *err) {
  (void)combine;
  return append(state, inputs[0].bytes, err);
}

static tr_code rows_merge(const tr_combine *combine, void *state, const void *other,
                          tr_error *err) {
  (void)combine;
  const tr_buffer *rows = other;
  return rows->size == 0 ? TR_OK : append(state, tr_buffer_bytes(rows), err);
}

static tr_code rows_extract(const tr_combine *combine, const void *state, tr_combine_output *output,
                            tr_error *err) {
  (void)combine;
  const tr_buffer *rows = state;
  tr_code code = tr_buffer_reserve(&output->storage, rows->size + 2, err);
  if (code == TR_OK) code = tr_buffer_append_byte(&output->storage, '[', err);
  if (code == TR_OK) code = tr_buffer_append(&output->storage, tr_buffer_bytes(rows), err);
  if (code == TR_OK) code = tr_buffer_append_byte(&output->storage, ']', err);
  output->value = tr_value_text(tr_buffer_bytes(&output->storage));
  output->is_json = 1;
  return code;
}

static size_t rows_heap_size(const void *state) {
  return ((const tr_buffer *)state)->capacity;
}

static void rows_free(void *state) {
  tr_buffer_free(state);
}

const tr_combine_fn tr_group_rows_fn = {
    .name = "rows",
    .arguments = {{"row", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_buffer),
    .add_input = rows_add,
    .merge_accumulators = rows_merge,
    .extract_output = rows_extract,
    .heap_size = rows_heap_size,
    .free_accumulator = rows_free,
};

/* --- first: the value of the first row, NULL included ----------------------------------------- */

typedef struct first_state {
  int is_set;
  tr_value value; /* held */
} first_state;

static tr_code first_set(first_state *first, const tr_value *value, tr_error *err) {
  if (first->is_set) return TR_OK;
  tr_code code = tr_held_value_set(&first->value, value, err);
  first->is_set = code == TR_OK;
  return code;
}

static tr_code first_add(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)combine;
  return first_set(state, &inputs[0], err);
}

static tr_code first_merge(const tr_combine *combine, void *state, const void *other,
                           tr_error *err) {
  (void)combine;
  const first_state *first = other;
  return first->is_set ? first_set(state, &first->value, err) : TR_OK;
}

static tr_code first_extract(const tr_combine *combine, const void *state,
                             tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  output->value = ((const first_state *)state)->value;
  return TR_OK;
}

static size_t first_heap_size(const void *state) {
  return tr_held_value_size(&((const first_state *)state)->value);
}

static void first_free(void *state) {
  tr_held_value_free(&((first_state *)state)->value);
}

const tr_combine_fn tr_group_first_fn = {
    .name = "first",
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(first_state),
    .add_input = first_add,
    .merge_accumulators = first_merge,
    .extract_output = first_extract,
    .heap_size = first_heap_size,
    .free_accumulator = first_free,
};

/* --- first_by: the value of the row with the lowest key, NULL included ------------------------ */

typedef struct first_by_state {
  first_state first;
  tr_buffer key;
} first_by_state;

static tr_code first_by_set(first_by_state *state, const tr_value *value, tr_bytes key,
                            tr_error *err) {
  if (state->first.is_set && tr_bytes_compare(key, tr_buffer_bytes(&state->key)) >= 0) return TR_OK;
  first_state first = {0};
  tr_code code = first_set(&first, value, err);
  if (code == TR_OK) code = tr_buffer_set(&state->key, key, err);
  if (code != TR_OK) {
    first_free(&first);
    return code;
  }
  first_free(&state->first);
  state->first = first;
  return TR_OK;
}

static tr_code first_by_add(const tr_combine *combine, void *state, const tr_value *inputs,
                            tr_error *err) {
  (void)combine;
  return first_by_set(state, &inputs[0], inputs[1].bytes, err);
}

static tr_code first_by_merge(const tr_combine *combine, void *state, const void *other,
                              tr_error *err) {
  (void)combine;
  const first_by_state *from = other;
  if (!from->first.is_set) return TR_OK;
  return first_by_set(state, &from->first.value, tr_buffer_bytes(&from->key), err);
}

static tr_code first_by_extract(const tr_combine *combine, const void *state,
                                tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  output->value = ((const first_by_state *)state)->first.value;
  return TR_OK;
}

static size_t first_by_heap_size(const void *state) {
  const first_by_state *s = state;
  return first_heap_size(&s->first) + s->key.capacity;
}

static void first_by_free(void *state) {
  first_by_state *s = state;
  first_free(&s->first);
  tr_buffer_free(&s->key);
}

const tr_combine_fn tr_group_first_by_fn = {
    .name = "first_by",
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"key", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(first_by_state),
    .add_input = first_by_add,
    .merge_accumulators = first_by_merge,
    .extract_output = first_by_extract,
    .heap_size = first_by_heap_size,
    .free_accumulator = first_by_free,
};
