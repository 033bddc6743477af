/*
** Quantiles from two KLL sketches, which are read one after the other: first the numbers, then the
** texts.
*/
#include "combine/approx_quantiles.h"

#include "base/argument.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "combine/functions.h"

/* approx_quantiles needs ranks within 1 / n, and tr_kll_rank_error(k) is 5 / k. */
#define K_PER_QUANTILE 5
#define HEAD_SIZE 5

int tr_quantiles_k(const tr_combine *combine) {
  if (combine->fn != &tr_combine_approx_quantiles) return TR_QUANTILES_LEAST_K;
  int64_t k = combine->parameters[1].integer * K_PER_QUANTILE;
  k = (k + TR_KLL_BATCH - 1) / TR_KLL_BATCH * TR_KLL_BATCH;
  return k < TR_QUANTILES_LEAST_K ? TR_QUANTILES_LEAST_K : (int)k;
}

static tr_code create_accumulator(const tr_combine *combine, void *state, tr_error *err) {
  (void)err;
  tr_quantiles *quantiles = state;
  quantiles->numbers = tr_kll_empty(TR_KLL_INTEGER, tr_quantiles_k(combine));
  quantiles->texts = tr_kll_empty(TR_KLL_TEXT, tr_quantiles_k(combine));
  return TR_OK;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  tr_quantiles *quantiles = state;
  switch (inputs[0].type) {
  case TR_NULL: return TR_OK;
  case TR_INTEGER: return tr_kll_add_integer(&quantiles->numbers, inputs[0].integer, err);
  case TR_REAL: return tr_kll_add_real(&quantiles->numbers, inputs[0].real, err);
  case TR_TEXT: return tr_kll_add_text(&quantiles->texts, inputs[0].bytes, err);
  case TR_BLOB: break;
  }
  return tr_argument_error(err, combine->fn->name, "x", &inputs[0], "must be a number or text");
}

/* Adds NULLs and numbers, but not the number that fills the batch. */
static int add_rows(const tr_combine_rows *rows, int first) {
  if (rows->has_one_state && first < rows->count) {
    tr_quantiles *quantiles = tr_combine_rows_state(rows, first);
    return first + tr_kll_add_run_in_place(&quantiles->numbers, tr_combine_rows_input(rows, first),
                                           rows->stride, rows->count - first);
  }
  for (int i = first; i < rows->count; i++) {
    const tr_value *input = tr_combine_rows_input(rows, i);
    tr_quantiles *quantiles = tr_combine_rows_state(rows, i);
    if (input->type == TR_NULL) continue;
    if (input->type >= TR_TEXT || !tr_kll_add_in_place(&quantiles->numbers, input)) return i;
  }
  return rows->count;
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  (void)combine;
  tr_quantiles *into = state;
  const tr_quantiles *from = other;
  tr_code code = tr_kll_merge(&into->numbers, &from->numbers, err);
  return code == TR_OK ? tr_kll_merge(&into->texts, &from->texts, err) : code;
}

static void free_accumulator(void *state) {
  tr_quantiles *quantiles = state;
  tr_kll_free(&quantiles->numbers);
  tr_kll_free(&quantiles->texts);
}

static size_t heap_size(const void *state) {
  const tr_quantiles *quantiles = state;
  return tr_kll_heap_size(&quantiles->numbers) + tr_kll_heap_size(&quantiles->texts);
}

/* --- reading the sketches in order -------------------------------------------------------- */

/* Both sketches in order, and a position that only moves up. */
typedef struct quantile_walk {
  const tr_quantiles *quantiles;
  tr_kll_view views[2];
  uint64_t total;
  int view;      /* 0 numbers, 1 texts */
  size_t entry;  /* the current entry of that view */
  uint64_t rank; /* how many values there are up to the current entry, this one included */
} quantile_walk;

static const tr_kll *sketch_at(const quantile_walk *walk, int view) {
  return view == 0 ? &walk->quantiles->numbers : &walk->quantiles->texts;
}

static void end_walk(quantile_walk *walk) {
  tr_kll_view_free(&walk->views[0]);
  tr_kll_view_free(&walk->views[1]);
}

/* Starts at the lowest entry, if there is one. */
static tr_code begin_walk(quantile_walk *walk, const tr_quantiles *quantiles, tr_error *err) {
  *walk = (quantile_walk){.quantiles = quantiles};
  walk->total = tr_kll_count(&quantiles->numbers) + tr_kll_count(&quantiles->texts);
  tr_code code = tr_kll_view_of(&quantiles->numbers, &walk->views[0], err);
  if (code == TR_OK) code = tr_kll_view_of(&quantiles->texts, &walk->views[1], err);
  if (code != TR_OK) {
    end_walk(walk);
    return code;
  }
  walk->view = walk->views[0].count > 0 ? 0 : 1;
  if (walk->total > 0) walk->rank = walk->views[walk->view].entries[0].weight;
  return TR_OK;
}

static int has_next(const quantile_walk *walk) {
  return walk->entry + 1 < walk->views[walk->view].count ||
         (walk->view == 0 && walk->views[1].count > 0);
}

static void next_entry(quantile_walk *walk) {
  if (++walk->entry == walk->views[walk->view].count) {
    walk->view = 1;
    walk->entry = 0;
  }
  walk->rank += walk->views[walk->view].entries[walk->entry].weight;
}

static tr_value present_value(const quantile_walk *walk) {
  return tr_kll_value(sketch_at(walk, walk->view),
                      walk->views[walk->view].entries[walk->entry].item);
}

static tr_value minimum_of(const quantile_walk *walk) {
  int view = walk->views[0].count > 0 ? 0 : 1;
  return tr_kll_value(sketch_at(walk, view), walk->views[view].minimum);
}

static tr_value maximum_of(const quantile_walk *walk) {
  int view = walk->views[1].count > 0 ? 1 : 0;
  return tr_kll_value(sketch_at(walk, view), walk->views[view].maximum);
}

/* --- approx_quantiles --------------------------------------------------------------------- */

static tr_code append_item(tr_buffer *json, const tr_value *value, int is_first, tr_error *err) {
  tr_code code = is_first ? TR_OK : tr_buffer_append_byte(json, ',', err);
  return code == TR_OK ? tr_json_append_value(json, value, err) : code;
}

/*
** The minimum, n - 2 picks, the maximum. Pick j is the first value whose rank is above j * total /
** (n - 1) + (total - 1) / (n - 1).
*/
static tr_code append_quantiles(quantile_walk *walk, int64_t n, tr_buffer *json, tr_error *err) {
  double step = (double)walk->total / (double)(n - 1);
  double offset = (double)(walk->total - 1) / (double)(n - 1);
  tr_value value = minimum_of(walk);
  tr_code code = append_item(json, &value, 1, err);
  for (int64_t j = 0; code == TR_OK && j < n - 2; j++) {
    double target = (double)j * step + offset;
    while ((double)walk->rank <= target && has_next(walk)) next_entry(walk);
    value = present_value(walk);
    code = append_item(json, &value, 0, err);
  }
  value = maximum_of(walk);
  return code == TR_OK ? append_item(json, &value, 0, err) : code;
}

static tr_code extract_quantiles(const tr_combine *combine, const void *state,
                                 tr_combine_output *output, tr_error *err) {
  quantile_walk walk;
  tr_buffer *json = &output->storage;
  tr_code code = begin_walk(&walk, state, err);
  if (code != TR_OK) return code;
  code = tr_buffer_append_byte(json, '[', err);
  if (code == TR_OK && walk.total > 0) {
    code = append_quantiles(&walk, combine->parameters[1].integer, json, err);
  }
  if (code == TR_OK) code = tr_buffer_append_byte(json, ']', err);
  end_walk(&walk);
  output->value = tr_value_text(tr_buffer_bytes(json));
  output->is_json = 1;
  return code;
}

static tr_code check_count(const tr_combine *combine, tr_error *err) {
  return tr_combine_check_integer(combine, 1, TR_QUANTILES_MIN, TR_QUANTILES_MAX, err);
}

/* --- approx_quantile ---------------------------------------------------------------------- */

static double number_of(const tr_value *value) {
  return value->type == TR_INTEGER ? (double)value->integer : value->real;
}

static tr_code extract_quantile(const tr_combine *combine, const void *state,
                                tr_combine_output *output, tr_error *err) {
  const tr_quantiles *quantiles = state;
  quantile_walk walk;
  tr_code code = begin_walk(&walk, quantiles, err);
  if (code != TR_OK) return code;
  tr_value value = tr_value_null();
  if (walk.total > 0) {
    /*
    ** Compares quotients, not products: a quotient i / n that is 0.07 in exact arithmetic is the
    ** same double as the literal 0.07.
    */
    double q = number_of(&combine->parameters[1]), total = (double)walk.total;
    while ((double)walk.rank / total < q && has_next(&walk)) next_entry(&walk);
    value = q <= 0 ? minimum_of(&walk) : q >= 1 ? maximum_of(&walk) : present_value(&walk);
  }
  if (value.type == TR_TEXT) {
    code = tr_buffer_set(&output->storage, value.bytes, err);
    value = tr_value_text(tr_buffer_bytes(&output->storage));
  }
  output->value = value;
  end_walk(&walk);
  return code;
}

static tr_code check_fraction(const tr_combine *combine, tr_error *err) {
  if (combine->argument_count < 2) return TR_OK;
  const tr_value *q = &combine->parameters[1];
  double number = number_of(q);
  if (number >= 0 && number <= 1) return TR_OK;
  return tr_argument_error(err, combine->fn->name, "q", q, "must be within 0..1");
}

/* --- bytes -------------------------------------------------------------------------------- */

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  const tr_quantiles *quantiles = state;
  const tr_kll *numbers = &quantiles->numbers;
  tr_kll_items items = numbers->kind == TR_KLL_INTEGER ? TR_KLL_INT64 : TR_KLL_DOUBLE;
  uint8_t head[HEAD_SIZE] = {(uint8_t)items};
  size_t start = bytes->size;
  tr_code code = tr_buffer_append(bytes, (tr_bytes){head, sizeof head}, err);
  if (code == TR_OK && tr_kll_count(numbers) > 0) code = tr_kll_write(numbers, items, bytes, err);
  if (code == TR_OK) {
    tr_store_u32(bytes->data + start + 1, (uint32_t)(bytes->size - start - sizeof head));
    if (tr_kll_count(&quantiles->texts) > 0) {
      code = tr_kll_write(&quantiles->texts, TR_KLL_STRING, bytes, err);
    }
  }
  if (code != TR_OK) bytes->size = start;
  return code;
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_quantiles *quantiles = state;
  int k = tr_quantiles_k(combine);
  create_accumulator(combine, state, err);
  if (bytes.size < HEAD_SIZE) {
    return tr_error_set(err, TR_CORRUPT, "quantiles: %zu bytes, at least %d", bytes.size,
                        HEAD_SIZE);
  }
  if (bytes.data[0] > TR_KLL_DOUBLE) {
    return tr_error_set(err, TR_CORRUPT, "quantiles: numbers of form %d", bytes.data[0]);
  }
  size_t size = tr_load_u32(bytes.data + 1), rest = bytes.size - HEAD_SIZE;
  if (size > rest) {
    return tr_error_set(err, TR_CORRUPT, "quantiles: a sketch of %zu bytes in %zu", size, rest);
  }
  tr_bytes numbers = {bytes.data + HEAD_SIZE, size};
  tr_bytes texts = {bytes.data + HEAD_SIZE + size, rest - size};
  tr_code code = TR_OK;
  if (numbers.size > 0) {
    code = tr_kll_read_own(&quantiles->numbers, k, (tr_kll_items)bytes.data[0], numbers, err);
  }
  if (code == TR_OK && texts.size > 0) {
    code = tr_kll_read_own(&quantiles->texts, k, TR_KLL_STRING, texts, err);
  }
  if (code != TR_OK) free_accumulator(state);
  return code;
}

const tr_combine_fn tr_combine_approx_quantiles = {
    .name = "approx_quantiles",
    .tag = 20,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"n", TR_ARGUMENT_SHAPE, 0}},
    .state_size = sizeof(tr_quantiles),
    .check_parameters = check_count,
    .create_accumulator = create_accumulator,
    .add_input = add_input,
    .add_rows = add_rows,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_quantiles,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_approx_quantile = {
    .name = "approx_quantile",
    .tag = 21,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"q", TR_ARGUMENT_EXTRACT, 0}},
    .state_size = sizeof(tr_quantiles),
    .check_parameters = check_fraction,
    .create_accumulator = create_accumulator,
    .add_input = add_input,
    .add_rows = add_rows,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_quantile,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};
