/*
** The first n values in some order, or the one value with the greatest or least key:
**
**   top_largest(x, n), top_smallest(x, n)       a JSON array of x
**   max_by(v, k), min_by(v, k), latest(v, t)    the v of the greatest (least) k or t
**   max_by(v, k, n), min_by(v, k, n)            a JSON array of v
**
** Rows whose x, k or t is NULL are ignored; v may be NULL. If keys are equal, the greatest v comes
** first (min_by: the least), in the order of held_value.h. So nothing depends on the order of the
** rows. Without rows an array is empty, and a single value is NULL.
**
** State: a ranking of x, or of k with v. Bytes: the ranking.
*/
#include "combine/functions.h"
#include "combine/ranking.h"

/* The limit of n: a signed 32-bit integer, far above the size of an array in SQL. */
#define MOST INT32_MAX

static const tr_ranking_order largest_value = {1, -1}, smallest_value = {1, 1};
static const tr_ranking_order largest_key = {2, -1}, smallest_key = {2, 1};

/* --- top_largest, top_smallest: n is the second argument ------------------------------------- */

static tr_code check_second(const tr_combine *combine, tr_error *err) {
  return tr_combine_check_integer(combine, 1, 0, MOST, err);
}

static tr_ranking_order order_of_values(const tr_combine *combine) {
  return combine->fn == &tr_combine_top_largest ? largest_value : smallest_value;
}

static tr_code add_value(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  if (inputs[0].type == TR_NULL) return TR_OK;
  return tr_ranking_add(state, order_of_values(combine), combine->parameters[1].integer, inputs,
                        err);
}

static tr_code merge_values(const tr_combine *combine, void *state, const void *other,
                            tr_error *err) {
  return tr_ranking_merge(state, order_of_values(combine), combine->parameters[1].integer, other,
                          err);
}

static tr_code extract_values(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  return tr_ranking_extract(state, order_of_values(combine), 0, combine->fn->name, output, err);
}

static tr_code write_values(const tr_combine *combine, const void *state, tr_buffer *bytes,
                            tr_error *err) {
  return tr_ranking_write(state, order_of_values(combine), bytes, err);
}

static tr_code read_values(const tr_combine *combine, void *state, tr_bytes bytes, tr_error *err) {
  return tr_ranking_read(state, order_of_values(combine), combine->parameters[1].integer,
                         combine->fn->name, bytes, err);
}

static size_t heap_size(const void *state) {
  return ((const tr_ranking *)state)->heap_size;
}

static void free_values(void *state) {
  tr_ranking_free(state, 1);
}

const tr_combine_fn tr_combine_top_largest = {
    .name = "top_largest",
    .tag = 14,
    .is_canonical = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"n", TR_ARGUMENT_SHAPE, 0}},
    .state_size = sizeof(tr_ranking),
    .check_parameters = check_second,
    .add_input = add_value,
    .merge_accumulators = merge_values,
    .extract_output = extract_values,
    .write_accumulator = write_values,
    .read_accumulator = read_values,
    .heap_size = heap_size,
    .free_accumulator = free_values,
};

const tr_combine_fn tr_combine_top_smallest = {
    .name = "top_smallest",
    .tag = 15,
    .is_canonical = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"n", TR_ARGUMENT_SHAPE, 0}},
    .state_size = sizeof(tr_ranking),
    .check_parameters = check_second,
    .add_input = add_value,
    .merge_accumulators = merge_values,
    .extract_output = extract_values,
    .write_accumulator = write_values,
    .read_accumulator = read_values,
    .heap_size = heap_size,
    .free_accumulator = free_values,
};

/* --- max_by, min_by, latest: n is the third argument, and 1 without it ------------------------ */

static tr_code check_third(const tr_combine *combine, tr_error *err) {
  return tr_combine_check_integer(combine, 2, 0, MOST, err);
}

static tr_ranking_order order_of_keys(const tr_combine *combine) {
  return combine->fn == &tr_combine_min_by ? smallest_key : largest_key;
}

static int64_t how_many(const tr_combine *combine) {
  return combine->argument_count == 3 ? combine->parameters[2].integer : 1;
}

static tr_code add_by_key(const tr_combine *combine, void *state, const tr_value *inputs,
                          tr_error *err) {
  tr_value tuple[2] = {inputs[1], inputs[0]};
  if (tuple[0].type == TR_NULL) return TR_OK;
  return tr_ranking_add(state, order_of_keys(combine), how_many(combine), tuple, err);
}

static tr_code merge_by_key(const tr_combine *combine, void *state, const void *other,
                            tr_error *err) {
  return tr_ranking_merge(state, order_of_keys(combine), how_many(combine), other, err);
}

static tr_code extract_by_key(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  const tr_ranking *ranking = state;
  if (combine->argument_count == 3) {
    return tr_ranking_extract(ranking, order_of_keys(combine), 1, combine->fn->name, output, err);
  }
  if (ranking->count > 0) output->value = *tr_ranking_last(ranking, 1);
  return TR_OK;
}

static tr_code write_by_key(const tr_combine *combine, const void *state, tr_buffer *bytes,
                            tr_error *err) {
  return tr_ranking_write(state, order_of_keys(combine), bytes, err);
}

static tr_code read_by_key(const tr_combine *combine, void *state, tr_bytes bytes, tr_error *err) {
  return tr_ranking_read(state, order_of_keys(combine), how_many(combine), combine->fn->name, bytes,
                         err);
}

static void free_by_key(void *state) {
  tr_ranking_free(state, 2);
}

const tr_combine_fn tr_combine_max_by = {
    .name = "max_by",
    .tag = 16,
    .is_canonical = 1,
    .arguments = {{"v", TR_ARGUMENT_INPUT, 0},
                  {"k", TR_ARGUMENT_INPUT, 0},
                  {"n", TR_ARGUMENT_SHAPE, 1}},
    .state_size = sizeof(tr_ranking),
    .check_parameters = check_third,
    .add_input = add_by_key,
    .merge_accumulators = merge_by_key,
    .extract_output = extract_by_key,
    .write_accumulator = write_by_key,
    .read_accumulator = read_by_key,
    .heap_size = heap_size,
    .free_accumulator = free_by_key,
};

const tr_combine_fn tr_combine_min_by = {
    .name = "min_by",
    .tag = 17,
    .is_canonical = 1,
    .arguments = {{"v", TR_ARGUMENT_INPUT, 0},
                  {"k", TR_ARGUMENT_INPUT, 0},
                  {"n", TR_ARGUMENT_SHAPE, 1}},
    .state_size = sizeof(tr_ranking),
    .check_parameters = check_third,
    .add_input = add_by_key,
    .merge_accumulators = merge_by_key,
    .extract_output = extract_by_key,
    .write_accumulator = write_by_key,
    .read_accumulator = read_by_key,
    .heap_size = heap_size,
    .free_accumulator = free_by_key,
};

const tr_combine_fn tr_combine_latest = {
    .name = "latest",
    .tag = 18,
    .is_canonical = 1,
    .arguments = {{"v", TR_ARGUMENT_INPUT, 0}, {"t", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_ranking),
    .add_input = add_by_key,
    .merge_accumulators = merge_by_key,
    .extract_output = extract_by_key,
    .write_accumulator = write_by_key,
    .read_accumulator = read_by_key,
    .heap_size = heap_size,
    .free_accumulator = free_by_key,
};
