/*
** Rows that wait come out as they went in, in their order, with their hash: random runs of short
** rows, of long ones and of both, with and without keys and inputs, through buffers of several
** sizes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "combine/waiting_rows.h"
#include "test_random.h"

enum { MOST_FIELDS = 3, ROWS = 4000, SEED = 77, KEY_ROOM = 2 * (8 + MOST_FIELDS * (9 + 300)) };

typedef struct test_row {
  tr_value keys[MOST_FIELDS], inputs[MOST_FIELDS];
} test_row;

static const char letters[] =
    "................................................................................"
    "................................................................................"
    "................................................................................"
    "...........................................................";

/* NULLs and small integers, or anything. */
static tr_value random_value(test_random *random, int is_short) {
  static const int64_t integers[] = {
      0,     1,      -1,        127,       128,       -128,         -129,      32767,    -32768,
      32768, -32769, INT32_MAX, INT32_MIN, 1LL << 31, -(1LL << 40), INT64_MAX, INT64_MIN};
  uint64_t shorts = 13, all = sizeof integers / sizeof *integers;
  uint64_t kind = test_random_below(random, is_short ? 4 : 8);
  if (kind == 0) return tr_value_null();
  if (kind < 4)
    return tr_value_integer(integers[test_random_below(random, is_short ? shorts : all)]);
  if (kind == 4) return tr_value_real((double)test_random_below(random, 3));
  if (kind == 5) return tr_value_real(-0.0);
  tr_bytes bytes = {(const uint8_t *)letters, (size_t)test_random_below(random, sizeof letters)};
  return kind == 6 ? tr_value_text(bytes) : tr_value_blob(bytes);
}

static void assert_same(const tr_value *a, const tr_value *b) {
  assert_int_equal(a->type, b->type);
  if (a->type == TR_REAL)
    assert_memory_equal(&a->real, &b->real, sizeof a->real);
  else
    assert_int_equal(tr_value_compare(a, b), 0);
}

typedef struct shape {
  int key_count, input_count;
} shape;

static const tr_collation collations[MOST_FIELDS];

/* Takes out the rows in the buffer, which are the ones from `first` on; returns how many. */
static int take_all(tr_waiting_rows *waiting, const shape *s, const test_row *first) {
  int count = 0;
  for (size_t at = 0; at < waiting->used; count++) {
    uint64_t key[KEY_ROOM / 8];
    tr_group_row expected, taken;
    const uint8_t *inputs;
    tr_value values[MOST_FIELDS];
    at = tr_waiting_rows_take(waiting, at, SEED, &taken, &inputs);
    tr_group_row_encode(first[count].keys, collations, s->key_count, (uint8_t *)key, &expected);
    tr_group_row_hash(&expected, SEED);
    assert_int_equal(taken.hash, expected.hash);
    assert_int_equal(taken.info.size, expected.info.size);
    assert_int_equal(taken.exact_size, expected.exact_size);
    assert_int_equal(taken.info.real_fields, expected.info.real_fields);
    assert_memory_equal(taken.bytes, expected.bytes, expected.info.size + expected.exact_size);
    tr_waiting_rows_inputs(waiting, inputs, s->input_count, values);
    for (int i = 0; i < s->input_count; i++) assert_same(&values[i], &first[count].inputs[i]);
  }
  tr_waiting_rows_clear(waiting);
  return count;
}

/* How many rows were put into buffers of each kind. */
typedef struct kinds {
  int with_heads, without;
} kinds;

static void round_trip(test_random *random, const shape *s, size_t size, kinds *seen) {
  static test_row rows[ROWS];
  uint64_t *memory = malloc(size);
  tr_waiting_rows waiting = {.data = (uint8_t *)memory, .size = size};
  int first = 0, is_short = 0, left_in_run = 0;
  assert_non_null(memory);
  for (int i = 0; i < ROWS; i++, left_in_run--) {
    if (left_in_run <= 0) {
      is_short = test_random_below(random, 3) > 0;
      left_in_run = (int)test_random_below(random, 200) + 1;
    }
    for (int f = 0; f < MOST_FIELDS; f++) {
      rows[i].keys[f] = random_value(random, is_short);
      rows[i].inputs[f] = random_value(random, is_short);
    }
    uint64_t key[KEY_ROOM / 8];
    tr_group_row encoded;
    tr_group_row_encode(rows[i].keys, collations, s->key_count, (uint8_t *)key, &encoded);
    tr_group_row_hash(&encoded, SEED);
    if (!tr_waiting_rows_put(&waiting, &encoded, rows[i].inputs, s->input_count)) {
      first += take_all(&waiting, s, &rows[first]);
      assert_int_equal(first, i);
      int is_in = tr_waiting_rows_put(&waiting, &encoded, rows[i].inputs, s->input_count);
      if (!is_in) assert_true(size < 4 * KEY_ROOM);
      first += !is_in;
    }
    seen->with_heads += waiting.words == 0 && waiting.used > 0;
    seen->without += waiting.words != 0;
  }
  first += take_all(&waiting, s, &rows[first]);
  assert_int_equal(first, ROWS);
  free(memory);
}

static void test_round_trips(void **state) {
  (void)state;
  static const shape shapes[] = {{1, 1}, {0, 0}, {0, 1}, {1, 0}, {2, 1}, {3, 3}, {1, 3}};
  static const size_t sizes[] = {(size_t)64 << 10, 4096, 512};
  test_random random = test_random_begin("test_round_trips");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    kinds seen = {0};
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      round_trip(&random, &shapes[i], sizes[j], &seen);
    }
    assert_true(seen.with_heads > 0);
    assert_true(seen.without > 0 || shapes[i].key_count + shapes[i].input_count == 0);
  }
}

/* Sixteen bytes for a short key and one integer: what the size of the buffers was chosen for. */
static void test_short_rows_are_short(void **state) {
  (void)state;
  uint64_t memory[64], key[16];
  tr_waiting_rows waiting = {.data = (uint8_t *)memory, .size = sizeof memory};
  int count = 0;
  for (;; count++) {
    tr_value value = tr_value_integer(count * 1000);
    tr_group_row row;
    tr_group_row_encode(&value, collations, 1, (uint8_t *)key, &row);
    if (!tr_waiting_rows_put(&waiting, &row, &value, 1)) break;
  }
  assert_int_equal(count, sizeof memory / 16);
}

/* A buffer without memory takes nothing. */
static void test_no_memory(void **state) {
  (void)state;
  uint64_t key[16];
  tr_waiting_rows waiting = {0};
  tr_value value = tr_value_integer(1);
  tr_group_row row;
  tr_group_row_encode(&value, collations, 1, (uint8_t *)key, &row);
  assert_int_equal(tr_waiting_rows_put(&waiting, &row, &value, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_short_rows_are_short),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
