/*
** sample(x, n, id) and sample(x, n): n values of x. Each set of n rows is equally likely.
**
** Each row has a number that looks random, and the n rows with the lowest numbers stay. They are
** the same for every order of the rows and every cut. With `id`, which identifies the row, the
** number is a hash of it. Then the sample is repeatable, and a larger n only adds rows to it.
** Without `id` the number is drawn at random.
**
** Rows whose x or id is NULL are ignored. Ids that are equal in SQL (1 and 1.0) have the same hash.
** All rows with the same id are candidates. The output is a JSON array in the order of the numbers,
** which says nothing about x.
**
** State: a ranking of numbers with x, and the generator. Bytes: the ranking.
*/
#include <string.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "combine/functions.h"
#include "combine/ranking.h"

enum { N = 1, ID = 2 }; /* positions of arguments */

typedef struct sample_state {
  tr_ranking ranking;
  uint64_t generator;
  int is_seeded;
} sample_state;

static const tr_ranking_order lowest_number = {2, 1};

static tr_code check_parameters(const tr_combine *combine, tr_error *err) {
  return tr_combine_check_integer(combine, N, 0, INT32_MAX, err);
}

static uint64_t hash_of_number(uint64_t bits, tr_type type) {
  uint8_t bytes[8];
  tr_store_u64(bytes, bits);
  return tr_hash128_of((tr_bytes){bytes, sizeof bytes}, (uint64_t)type).low;
}

/* The hash decides what is in a sample, so it must never change. */
static uint64_t hash_of(const tr_value *id) {
  if (id->type >= TR_TEXT) return tr_hash128_of(id->bytes, (uint64_t)id->type).low;
  if (id->type == TR_INTEGER) return hash_of_number((uint64_t)id->integer, TR_INTEGER);
  int64_t integer;
  if (tr_real_is_integer(id->real, &integer)) return hash_of_number((uint64_t)integer, TR_INTEGER);
  uint64_t bits;
  memcpy(&bits, &id->real, sizeof bits);
  return hash_of_number(bits, TR_REAL);
}

/* SplitMix64 (Steele, Lea, Flood, 2014), started with 64 random bits. */
static tr_code draw(const tr_combine *combine, sample_state *state, uint64_t *number,
                    tr_error *err) {
  if (!state->is_seeded) {
    if (combine->randomness == NULL) {
      return tr_error_set(err, TR_INVALID_STATE, "%s(): no source of random bits",
                          combine->fn->name);
    }
    combine->randomness(sizeof state->generator, &state->generator);
    state->is_seeded = 1;
  }
  uint64_t x = state->generator += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  *number = x ^ (x >> 31);
  return TR_OK;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  sample_state *s = state;
  uint64_t number = 0;
  if (inputs[0].type == TR_NULL) return TR_OK;
  if (combine->argument_count > ID) {
    if (inputs[ID].type == TR_NULL) return TR_OK;
    number = hash_of(&inputs[ID]);
  } else {
    tr_code code = draw(combine, s, &number, err);
    if (code != TR_OK) return code;
  }
  tr_value tuple[2] = {tr_value_integer((int64_t)number), inputs[0]};
  return tr_ranking_add(&s->ranking, lowest_number, combine->parameters[N].integer, tuple, err);
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  const sample_state *o = other;
  return tr_ranking_merge(&((sample_state *)state)->ranking, lowest_number,
                          combine->parameters[N].integer, &o->ranking, err);
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  return tr_ranking_extract(&((const sample_state *)state)->ranking, lowest_number, 1,
                            combine->fn->name, output, err);
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  return tr_ranking_write(&((const sample_state *)state)->ranking, lowest_number, bytes, err);
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  return tr_ranking_read(&((sample_state *)state)->ranking, lowest_number,
                         combine->parameters[N].integer, combine->fn->name, bytes, err);
}

static size_t heap_size(const void *state) {
  return ((const sample_state *)state)->ranking.heap_size;
}

static void free_accumulator(void *state) {
  tr_ranking_free(&((sample_state *)state)->ranking, lowest_number.width);
}

const tr_combine_fn tr_combine_sample = {
    .name = "sample",
    .tag = 19,
    .is_canonical = 1,
    .random_below = 3,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0},
                  {"n", TR_ARGUMENT_SHAPE, 0},
                  {"id", TR_ARGUMENT_INPUT, 1}},
    .state_size = sizeof(sample_state),
    .check_parameters = check_parameters,
    .add_input = add_input,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};
