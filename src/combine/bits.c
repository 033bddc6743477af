/*
** bit_and(x), bit_or(x), bit_xor(x): combine the 64 bits of all inputs. NULL if there is no input.
**
** Each input becomes an integer as for SQLite's operators & and |: the fraction of a REAL is
** dropped, and a REAL beyond 64 bits becomes the nearest 64-bit integer. Only bit_xor can remove an
** input.
**
** State: the bits and a counter. Bytes: the count as a varint, then the bits as a signed integer.
** For bit_and and bit_or the count is only 0 or 1, because they need no more than that.
*/
#include "combine/codec.h"
#include "combine/functions.h"
#include "combine/number_input.h"

typedef struct bits_state {
  uint64_t bits;
  uint64_t count;
} bits_state;

static uint64_t bits_of(const tr_value *number) {
  if (number->type == TR_INTEGER) return (uint64_t)number->integer;
  if (number->real >= 0x1p63) return (uint64_t)INT64_MAX;
  if (number->real < -0x1p63) return (uint64_t)INT64_MIN;
  return (uint64_t)(int64_t)number->real;
}

static void combine_and(bits_state *state, const bits_state *other) {
  if (other->count == 0) return;
  state->bits = state->count == 0 ? other->bits : state->bits & other->bits;
  state->count = 1;
}

static void combine_or(bits_state *state, const bits_state *other) {
  if (other->count == 0) return;
  state->bits |= other->bits;
  state->count = 1;
}

static tr_code add_and(const tr_combine *combine, void *state, const tr_value *inputs,
                       tr_error *err) {
  int is_number = tr_number_input(combine, &inputs[0], err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  combine_and(state, &(bits_state){bits_of(&inputs[0]), 1});
  return TR_OK;
}

static tr_code add_or(const tr_combine *combine, void *state, const tr_value *inputs,
                      tr_error *err) {
  int is_number = tr_number_input(combine, &inputs[0], err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  combine_or(state, &(bits_state){bits_of(&inputs[0]), 1});
  return TR_OK;
}

static tr_code add_xor(const tr_combine *combine, void *state, const tr_value *inputs,
                       tr_error *err) {
  bits_state *s = state;
  int is_number = tr_number_input(combine, &inputs[0], err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  s->bits ^= bits_of(&inputs[0]);
  s->count++;
  return TR_OK;
}

static tr_code remove_xor(const tr_combine *combine, void *state, const tr_value *inputs,
                          tr_error *err) {
  bits_state *s = state;
  int is_number = tr_number_input(combine, &inputs[0], err);
  if (is_number <= 0) return is_number == 0 ? TR_OK : TR_INVALID_ARGUMENT;
  s->bits ^= bits_of(&inputs[0]);
  s->count--;
  return TR_OK;
}

static tr_code merge_and(const tr_combine *combine, void *state, const void *other, tr_error *err) {
  (void)combine, (void)err;
  combine_and(state, other);
  return TR_OK;
}

static tr_code merge_or(const tr_combine *combine, void *state, const void *other, tr_error *err) {
  (void)combine, (void)err;
  combine_or(state, other);
  return TR_OK;
}

static tr_code merge_xor(const tr_combine *combine, void *state, const void *other, tr_error *err) {
  bits_state *s = state;
  const bits_state *o = other;
  if (o->count > (uint64_t)INT64_MAX - s->count) {
    return tr_error_set(err, TR_OVERFLOW, "%s(): too many rows", combine->fn->name);
  }
  s->bits ^= o->bits;
  s->count += o->count;
  return TR_OK;
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  (void)combine, (void)err;
  const bits_state *s = state;
  if (s->count > 0) output->value = tr_value_integer((int64_t)s->bits);
  return TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  const bits_state *s = state;
  tr_code code = tr_put_varint(bytes, s->count, err);
  return code == TR_OK ? tr_put_signed(bytes, (int64_t)s->bits, err) : code;
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_decoder from = {bytes, combine->fn->name};
  bits_state read = {0};
  int64_t bits = 0;
  tr_code code = tr_take_varint(&from, "count", &read.count, err);
  if (code == TR_OK) code = tr_take_signed(&from, "bits", &bits, err);
  if (code == TR_OK) code = tr_take_end(&from, err);
  if (code != TR_OK) return code;
  uint64_t most = combine->fn->remove_input != NULL ? INT64_MAX : 1;
  if (read.count > most || (read.count == 0 && bits != 0)) {
    return tr_take_fail(&from, "count", "is impossible", err);
  }
  read.bits = (uint64_t)bits;
  *(bits_state *)state = read;
  return TR_OK;
}

const tr_combine_fn tr_combine_bit_and = {
    .name = "bit_and",
    .tag = 11,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(bits_state),
    .add_input = add_and,
    .merge_accumulators = merge_and,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
};

const tr_combine_fn tr_combine_bit_or = {
    .name = "bit_or",
    .tag = 12,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(bits_state),
    .add_input = add_or,
    .merge_accumulators = merge_or,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
};

const tr_combine_fn tr_combine_bit_xor = {
    .name = "bit_xor",
    .tag = 13,
    .is_canonical = 1,
    .is_numeric = 1,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(bits_state),
    .add_input = add_xor,
    .remove_input = remove_xor,
    .merge_accumulators = merge_xor,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
};
