/*
** var_pop, var_samp, stddev_pop and stddev_samp, from the exact sums of x and of x squared.
**
** With n inputs the variance is (n * sum(x^2) - sum(x)^2) / n^2; the sample variance divides by n *
** (n - 1) instead. Both sums are exact, so the difference is exact too, and only the quotient is
** rounded, once. So there is no cancellation, equal inputs give 0, and the order does not matter.
** The standard deviation is the root of the same exact fraction, rounded once. So it is right even
** if the variance is too large or too small for a double.
**
** The output is NULL without inputs, for a sample of one, and if any input is an infinity.
**
** State: both sums and the count. Bytes: the count as a varint, then sum(x), then sum(x^2).
*/
#include <math.h>

#include "combine/codec.h"
#include "combine/exact_sum.h"
#include "combine/functions.h"
#include "combine/number_input.h"

typedef struct variance_state {
  tr_exact_sum sum, squares;
  uint64_t count;
} variance_state;

static tr_code add_signed(const tr_combine *combine, variance_state *s, const tr_value *input,
                          tr_exact_sign sign, tr_error *err) {
  int is_number = tr_number_input(combine, input, err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  tr_code code = tr_exact_sum_add(&s->sum, input, sign, err);
  if (code != TR_OK) return code;
  code = tr_exact_sum_add_square(&s->squares, input, sign, err);
  if (code == TR_OK) {
    s->count += sign == TR_EXACT_ADD ? 1 : UINT64_MAX;
    return TR_OK;
  }
  /* Removing what was just added needs no memory, so it cannot fail. */
  tr_exact_sign back = sign == TR_EXACT_ADD ? TR_EXACT_SUBTRACT : TR_EXACT_ADD;
  tr_exact_sum_add(&s->sum, input, back, NULL);
  return code;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  return add_signed(combine, state, &inputs[0], TR_EXACT_ADD, err);
}

static tr_code remove_input(const tr_combine *combine, void *state, const tr_value *inputs,
                            tr_error *err) {
  return add_signed(combine, state, &inputs[0], TR_EXACT_SUBTRACT, err);
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  variance_state *s = state;
  const variance_state *o = other;
  if (o->count > (uint64_t)INT64_MAX - s->count) {
    return tr_error_set(err, TR_OVERFLOW, "%s(): too many rows", combine->fn->name);
  }
  tr_code code = tr_exact_sum_merge(&s->sum, &o->sum, err);
  if (code == TR_OK) code = tr_exact_sum_merge(&s->squares, &o->squares, err);
  if (code == TR_OK) s->count += o->count;
  return code;
}

/*
** Computes n * sum(x^2) - sum(x)^2 as difference * 2^*exponent. It is never negative for n numbers.
** Returns 0 if it is negative, which is possible only if the sums were read from bytes.
*/
static int difference_of(const variance_state *s, uint64_t count, tr_natural *difference,
                         int *exponent) {
  tr_exact_number sum, squares;
  tr_natural n, square;
  tr_exact_sum_number(&s->sum, &sum);
  tr_exact_sum_number(&s->squares, &squares);
  tr_natural_set(&n, count);
  tr_natural_multiply(&n, &squares.magnitude, difference);
  tr_natural_multiply(&sum.magnitude, &sum.magnitude, &square);
  int shift = squares.exponent - 2 * sum.exponent;
  *exponent = shift < 0 ? squares.exponent : 2 * sum.exponent;
  if (shift < 0)
    tr_natural_shift_left(&square, -shift);
  else
    tr_natural_shift_left(difference, shift);
  if (tr_natural_compare(difference, &square) < 0) return 0;
  tr_natural_subtract(difference, &square);
  return 1;
}

/* The variance over n * (n - less), or its root: `round` rounds it to a double, once. */
static void extract(const variance_state *s, uint64_t less, tr_combine_output *output,
                    double (*round)(const tr_natural *n, int has_rest, int exponent)) {
  if (s->count <= less || tr_exact_sum_infinity(&s->sum) != 0) return;
  tr_natural variance, n, n_less, divisor;
  int exponent;
  if (!difference_of(s, s->count, &variance, &exponent)) return;
  tr_natural_set(&n, s->count);
  tr_natural_set(&n_less, s->count - less);
  tr_natural_multiply(&n, &n_less, &divisor);
  int shift = 110 + tr_natural_bits(&divisor) - tr_natural_bits(&variance);
  if (shift > 0) {
    tr_natural_shift_left(&variance, shift);
    exponent -= shift;
  }
  int has_rest = tr_natural_divide(&variance, &divisor);
  output->value = tr_value_real(round(&variance, has_rest, exponent));
}

static tr_code extract_var_pop(const tr_combine *combine, const void *state,
                               tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  extract(state, 0, output, tr_natural_round);
  return TR_OK;
}

static tr_code extract_var_samp(const tr_combine *combine, const void *state,
                                tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  extract(state, 1, output, tr_natural_round);
  return TR_OK;
}

static tr_code extract_stddev_pop(const tr_combine *combine, const void *state,
                                  tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  extract(state, 0, output, tr_natural_round_root);
  return TR_OK;
}

static tr_code extract_stddev_samp(const tr_combine *combine, const void *state,
                                   tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  extract(state, 1, output, tr_natural_round_root);
  return TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  const variance_state *s = state;
  tr_code code = tr_put_varint(bytes, s->count, err);
  if (code == TR_OK) code = tr_exact_sum_write(&s->sum, bytes, err);
  return code == TR_OK ? tr_exact_sum_write(&s->squares, bytes, err) : code;
}

static void free_accumulator(void *state) {
  variance_state *s = state;
  tr_exact_sum_free(&s->sum);
  tr_exact_sum_free(&s->squares);
}

/* Whether the sum of squares is at most `count` times the square of the largest REAL. */
static int is_sum_of_squares(const tr_exact_number *squares, uint64_t count) {
  tr_natural magnitude = squares->magnitude, mantissa, square, n, most;
  tr_natural_set(&mantissa, (UINT64_C(1) << 53) - 1);
  tr_natural_multiply(&mantissa, &mantissa, &square);
  tr_natural_set(&n, count);
  tr_natural_multiply(&n, &square, &most);
  tr_natural_shift_left(&most, 2 * 971 + 2148);
  tr_natural_shift_left(&magnitude, squares->exponent + 2148);
  return tr_natural_compare(&magnitude, &most) <= 0;
}

/*
** Whether any numbers can have this count and these sums. If so, extract can subtract and divide.
** The answer is exact for infinities and for a single number. For several numbers it checks the
** sums against each other (Cauchy-Schwarz) and the sum of squares against the largest REAL, which
** bounds sum(x) too.
*/
static int is_possible(const variance_state *s) {
  tr_exact_number sum, squares;
  tr_natural difference;
  int exponent;
  uint64_t infinities = tr_exact_sum_infinities(&s->sum);
  if (s->count > INT64_MAX || infinities > s->count) return 0;
  uint64_t count = s->count - infinities; /* of finite ones */
  tr_exact_sum_number(&s->sum, &sum);
  tr_exact_sum_number(&s->squares, &squares);
  if (!is_sum_of_squares(&squares, count)) return 0;
  if (!difference_of(s, count, &difference, &exponent)) return 0;
  if (count != 1) return 1;
  int64_t integer;
  int is_number = tr_exact_number_is_real(&sum) || tr_exact_number_integer(&sum, &integer);
  return is_number && difference.count == 0;
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_decoder from = {bytes, combine->fn->name};
  variance_state read = {.count = 0};
  tr_code code = tr_take_varint(&from, "count", &read.count, err);
  if (code == TR_OK) code = tr_exact_sum_read(&read.sum, TR_EXACT_NUMBERS, &from, err);
  if (code == TR_OK) code = tr_exact_sum_read(&read.squares, TR_EXACT_SQUARES, &from, err);
  if (code == TR_OK) code = tr_take_end(&from, err);
  if (code == TR_OK && !is_possible(&read)) {
    code = tr_take_fail(&from, "sums", "are of no numbers", err);
  }
  if (code == TR_OK)
    *(variance_state *)state = read;
  else
    free_accumulator(&read);
  return code;
}

static size_t heap_size(const void *state) {
  const variance_state *s = state;
  return tr_exact_sum_heap_size(&s->sum) + tr_exact_sum_heap_size(&s->squares);
}

const tr_combine_fn tr_combine_var_pop = {
    .name = "var_pop",
    .tag = 4,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(variance_state),
    .add_input = add_input,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_var_pop,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_var_samp = {
    .name = "var_samp",
    .tag = 5,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(variance_state),
    .add_input = add_input,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_var_samp,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_stddev_pop = {
    .name = "stddev_pop",
    .tag = 6,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(variance_state),
    .add_input = add_input,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_stddev_pop,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_stddev_samp = {
    .name = "stddev_samp",
    .tag = 7,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(variance_state),
    .add_input = add_input,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_stddev_samp,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};
