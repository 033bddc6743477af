/*
** approx_count_distinct(x): a HyperLogLog sketch (hll.h) as a combine function.
*/
#include <math.h>

#include "combine/functions.h"
#include "combine/hll_inside.h"

static tr_code create_accumulator(const tr_combine *combine, void *state, tr_error *err) {
  (void)combine, (void)err;
  *(tr_hll *)state = tr_hll_empty(TR_HLL_LG_K);
  return TR_OK;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)combine;
  return tr_hll_add(state, &inputs[0], err);
}

static inline uint32_t coupon_of_input(const tr_value *input) {
  return input->type == TR_INTEGER ? tr_hll_coupon_of_u64((uint64_t)input->integer)
                                   : tr_hll_coupon_of(input);
}

/* Adds all rows to one sketch, which has registers. */
static void raise_registers(tr_hll *hll, const tr_combine_rows *rows, int first) {
  uint8_t *registers = hll->registers;
  uint32_t mask = (UINT32_C(1) << hll->lg_k) - 1;
  /* In variables of their own, because a register could be any byte, also one of `*rows`. */
  const tr_value *inputs = rows->inputs;
  size_t stride = rows->stride;
  int count = rows->count;
  uint32_t coupons = 0;
  for (int i = first; i < count; i++) {
    uint32_t coupon = coupon_of_input(&inputs[(size_t)i * stride]), slot = coupon & mask;
    uint8_t rank = (uint8_t)(coupon >> TR_HLL_ADDRESS_BITS); /* NULL: 0 */
    if (registers[slot] < rank) registers[slot] = rank;
    coupons |= coupon;
  }
  if (coupons != 0) hll->hip = 0;
}

/* Adds all values but one that is new to a sketch that is still a set: that may need memory. */
static int add_rows(const tr_combine_rows *rows, int first) {
  if (rows->has_one_state && first < rows->count) {
    tr_hll *hll = tr_combine_rows_state(rows, first);
    if (hll->registers != NULL) {
      raise_registers(hll, rows, first);
      return rows->count;
    }
  }
  for (int i = first; i < rows->count; i++) {
    uint32_t coupon = coupon_of_input(tr_combine_rows_input(rows, i));
    if (coupon == 0) continue;
    if (!tr_hll_add_coupon_in_place(tr_combine_rows_state(rows, i), coupon)) return i;
  }
  return rows->count;
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  (void)combine;
  return tr_hll_merge(state, other, err);
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  double estimate = tr_hll_estimate(state);
  output->value = tr_value_integer(estimate < 0x1p63 ? llround(estimate) : INT64_MAX);
  return TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  return tr_hll_write(state, bytes, err);
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  (void)combine;
  return tr_hll_read(state, bytes, err);
}

static size_t heap_size(const void *state) {
  return tr_hll_heap_size(state);
}

static void free_accumulator(void *state) {
  tr_hll_free(state);
}

const tr_combine_fn tr_combine_approx_count_distinct = {
    .name = "approx_count_distinct",
    .tag = 22,
    .is_canonical = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_hll),
    .create_accumulator = create_accumulator,
    .add_input = add_input,
    .add_rows = add_rows,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};
