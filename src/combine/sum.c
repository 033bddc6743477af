/*
** sum(x) and mean(x), from the exact sum of all inputs.
**
** sum: while all inputs are INTEGERs the sum is an INTEGER, and an error if it does not fit 64
** bits. With a REAL among them it is the REAL nearest to the exact sum. mean is the REAL nearest to
** the exact sum divided by the count. Infinities of one sign give that infinity. Infinities of both
** signs give NULL, which is what SQLite makes of NaN. Without inputs both are NULL.
**
** State: the sum and two counters, so that rows can be removed. Bytes: the counters as varints,
** then the sum.
*/

#include "combine/codec.h"
#include "combine/exact_sum.h"
#include "combine/functions.h"
#include "combine/number_input.h"

typedef struct sum_state {
  tr_exact_sum sum;
  uint64_t count; /* numbers added */
  uint64_t reals; /* those that were REAL */
} sum_state;

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  sum_state *s = state;
  int is_number = tr_number_input(combine, &inputs[0], err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  tr_code code = tr_exact_sum_add(&s->sum, &inputs[0], TR_EXACT_ADD, err);
  if (code != TR_OK) return code;
  s->count++;
  s->reals += inputs[0].type == TR_REAL;
  return TR_OK;
}

/* Adds NULLs, and numbers that the sum has room for. */
static int add_rows(const tr_combine_rows *rows, int first) {
  for (int i = first; i < rows->count; i++) {
    const tr_value *input = tr_combine_rows_input(rows, i);
    sum_state *s = tr_combine_rows_state(rows, i);
    if (input->type == TR_NULL) continue;
    if (input->type == TR_INTEGER) {
      if (!tr_exact_sum_add_integer(&s->sum, input->integer)) return i;
    } else {
      if (input->type != TR_REAL || !tr_exact_sum_add_real(&s->sum, input->real)) return i;
      s->reals++;
    }
    s->count++;
  }
  return rows->count;
}

static tr_code remove_input(const tr_combine *combine, void *state, const tr_value *inputs,
                            tr_error *err) {
  sum_state *s = state;
  int is_number = tr_number_input(combine, &inputs[0], err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  tr_code code = tr_exact_sum_add(&s->sum, &inputs[0], TR_EXACT_SUBTRACT, err);
  if (code != TR_OK) return code;
  s->count--;
  s->reals -= inputs[0].type == TR_REAL;
  return TR_OK;
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  sum_state *s = state;
  const sum_state *o = other;
  if (o->count > (uint64_t)INT64_MAX - s->count) {
    return tr_error_set(err, TR_OVERFLOW, "%s(): too many rows", combine->fn->name);
  }
  tr_code code = tr_exact_sum_merge(&s->sum, &o->sum, err);
  if (code != TR_OK) return code;
  s->count += o->count;
  s->reals += o->reals;
  return TR_OK;
}

/* The exact sum divided by `divisor`; the infinity or NaN if there are infinities. */
static tr_value quotient(const sum_state *s, const tr_exact_number *number, uint64_t divisor) {
  double infinity = tr_exact_sum_infinity(&s->sum);
  if (infinity != 0) return tr_value_real(infinity); /* NaN becomes NULL */
  return tr_value_real(tr_exact_number_quotient(number, divisor));
}

static tr_code overflow(const tr_combine *combine, const tr_exact_number *number, tr_error *err) {
  char digits[41];
  tr_natural magnitude = number->magnitude;
  tr_natural_shift_left(&magnitude, number->exponent);
  tr_natural_decimal(&magnitude, digits);
  return tr_error_set(err, TR_OVERFLOW, "integer overflow: %s() is %s%s", combine->fn->name,
                      number->is_negative ? "-" : "", digits);
}

static tr_code extract_sum(const tr_combine *combine, const void *state, tr_combine_output *output,
                           tr_error *err) {
  const sum_state *s = state;
  if (s->count == 0) return TR_OK;
  if (s->reals == 0 && tr_exact_sum_is_int64(&s->sum)) {
    /* Member by member: copying a whole struct would wait until its members have been stored. */
    output->value.type = TR_INTEGER;
    output->value.integer = (int64_t)s->sum.low;
    return TR_OK;
  }
  tr_exact_number number;
  tr_exact_sum_number(&s->sum, &number);
  if (s->reals > 0) {
    output->value = quotient(s, &number, 1);
    return TR_OK;
  }
  int64_t integer;
  if (!tr_exact_number_integer(&number, &integer)) return overflow(combine, &number, err);
  output->value = tr_value_integer(integer);
  return TR_OK;
}

static tr_code extract_mean(const tr_combine *combine, const void *state, tr_combine_output *output,
                            tr_error *err) {
  (void)combine, (void)err;
  const sum_state *s = state;
  if (s->count == 0) return TR_OK;
  tr_exact_number number;
  tr_exact_sum_number(&s->sum, &number);
  output->value = quotient(s, &number, s->count);
  return TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  const sum_state *s = state;
  tr_code code = tr_put_varint(bytes, s->count, err);
  if (code == TR_OK) code = tr_put_varint(bytes, s->reals, err);
  return code == TR_OK ? tr_exact_sum_write(&s->sum, bytes, err) : code;
}

/*
** Whether any numbers can have these counts and this sum. The answer is exact for INTEGERs, for
** infinities and for a single number. For several REALs it checks only that the sum is not greater
** than so many of the largest REAL.
*/
static int is_possible(const sum_state *s) {
  uint64_t infinities = tr_exact_sum_infinities(&s->sum);
  if (s->count > INT64_MAX || s->reals > s->count || infinities > s->reals) return 0;
  tr_exact_number number;
  tr_exact_sum_number(&s->sum, &number);
  uint64_t integers = s->count - s->reals, finite_reals = s->reals - infinities;
  if (integers == 0 && finite_reals == 1) return tr_exact_number_is_real(&number);
  return tr_exact_number_is_sum(&number, integers, finite_reals);
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_decoder from = {bytes, combine->fn->name};
  sum_state read = {.count = 0};
  tr_code code = tr_take_varint(&from, "count", &read.count, err);
  if (code == TR_OK) code = tr_take_varint(&from, "count of REALs", &read.reals, err);
  if (code != TR_OK) return code;
  tr_exact_kind kind = read.reals > 0 ? TR_EXACT_NUMBERS : TR_EXACT_INTEGERS;
  code = tr_exact_sum_read(&read.sum, kind, &from, err);
  if (code != TR_OK) return code;
  code = tr_take_end(&from, err);
  if (code == TR_OK && !is_possible(&read)) {
    code = tr_take_fail(&from, "sum", "is of no such numbers", err);
  }
  if (code == TR_OK)
    *(sum_state *)state = read;
  else
    tr_exact_sum_free(&read.sum);
  return code;
}

static size_t heap_size(const void *state) {
  return tr_exact_sum_heap_size(&((const sum_state *)state)->sum);
}

static void free_accumulator(void *state) {
  tr_exact_sum_free(&((sum_state *)state)->sum);
}

const tr_combine_fn tr_combine_sum = {
    .name = "sum",
    .tag = 2,
    .is_canonical = 1,
    .is_builtin = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(sum_state),
    .add_input = add_input,
    .add_rows = add_rows,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_sum,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

const tr_combine_fn tr_combine_mean = {
    .name = "mean",
    .tag = 3,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(sum_state),
    .add_input = add_input,
    .add_rows = add_rows,
    .remove_input = remove_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_mean,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};
