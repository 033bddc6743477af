/*
** range/byte_key_range.h beyond what replay_byte_key_range.c covers: properties of random ranges,
** very long keys, ownership and failing allocations.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "range/byte_key_range.h"
#include "test_memory.h"
#include "test_random.h"

static void assert_is_text(const tr_buffer *text, const char *wanted) {
  assert_int_equal(text->size, strlen(wanted));
  assert_memory_equal(text->data, wanted, text->size);
}

static void test_texts(void **state) {
  (void)state;
  tr_byte_key_range range;
  tr_buffer text = {0};
  assert_int_equal(tr_byte_key_range_init(&range, tr_bytes_of_text("k1"), (tr_bytes){0}, NULL),
                   TR_OK);
  assert_int_equal(tr_byte_key_range_text(&range, &text, NULL), TR_OK);
  assert_int_equal(tr_byte_key_text(tr_bytes_of_text("z"), &text, NULL), TR_OK);
  assert_is_text(&text, "ByteKeyRange{startKey=[6b31], endKey=[]}[7a]");
  tr_buffer_free(&text);
  tr_byte_key_range_free(&range);
}

static void test_no_keys(void **state) {
  (void)state;
  tr_byte_key_range none, all = {0};
  assert_int_equal(tr_byte_key_range_init_no_keys(&none, NULL), TR_OK);
  assert_true(tr_byte_key_range_is_no_keys(&none));
  assert_false(tr_byte_key_range_is_no_keys(&all));
  assert_true(tr_byte_key_range_has_end(&none));
  assert_false(tr_byte_key_range_has_end(&all));
  assert_false(tr_byte_key_range_contains(&none, tr_bytes_of_text("a")));
  assert_true(tr_byte_key_range_contains(&all, tr_bytes_of_text("a")));
  tr_byte_key_range_free(&none);
  tr_byte_key_range_free(&all);
}

/* Keys that do not fit a message are cut, and the message shows it. */
static void test_long_key_in_message(void **state) {
  (void)state;
  uint8_t key[2000];
  memset(key, 0xab, sizeof key);
  tr_byte_key_range range;
  tr_error err;
  assert_int_equal(
      tr_byte_key_range_init(&range, (tr_bytes){key, sizeof key}, tr_bytes_of_text("k"), &err),
      TR_INVALID_ARGUMENT);
  assert_null(range.start.data);
  assert_non_null(strstr(err.message, "Start [abababab"));
  assert_string_equal(err.message + TR_MESSAGE_SIZE - 4, "...");
}

/* A random range that is not one point. Long common beginnings are frequent. */
static void random_range(test_random *random, tr_byte_key_range *range) {
  enum { LONGEST = 80 };
  for (;;) {
    uint8_t rooms[2][LONGEST];
    size_t limit = test_random_below(random, 4) == 0 ? LONGEST : 6;
    tr_bytes start = test_random_bytes(random, rooms[0], limit);
    tr_bytes end = test_random_bytes(random, rooms[1], limit);
    size_t common = test_random_below(random, 2) * test_random_below(random, start.size + 1);
    if (common > 0 && common < end.size) memcpy(rooms[1], rooms[0], common);
    if (tr_byte_key_range_init(range, start, end, NULL) != TR_OK) continue;
    tr_buffer key = {0};
    tr_code code = tr_byte_key_range_interpolate(range, 0, &key, NULL);
    tr_buffer_free(&key);
    if (code == TR_OK) return;
    tr_byte_key_range_free(range);
  }
}

static double random_fraction(test_random *random) {
  static const double awkward[] = {0, 0.5, 0x1p-1074, 0x1p-53, 0x1.fffffffffffffp-1, 0.1, 1e-9};
  if (test_random_below(random, 4) == 0) {
    return awkward[test_random_below(random, sizeof awkward / sizeof *awkward)];
  }
  return ldexp((double)(test_random_next(random) >> 11), -53);
}

/* Keys of two fractions lie in the range, in the fractions' order, and give the fractions back. */
static void test_interpolation(void **state) {
  (void)state;
  test_random random = test_random_begin("interpolation");
  tr_buffer lower = {0}, upper = {0};
  for (long i = test_effort(200000); i > 0; i--) {
    tr_byte_key_range range;
    random_range(&random, &range);
    double a = random_fraction(&random), b = random_fraction(&random);
    double low = a < b ? a : b, high = a < b ? b : a, back = -1;
    assert_int_equal(tr_byte_key_range_interpolate(&range, low, &lower, NULL), TR_OK);
    assert_int_equal(tr_byte_key_range_interpolate(&range, high, &upper, NULL), TR_OK);
    assert_true(lower.size > 0);
    assert_true(tr_byte_key_range_contains(&range, tr_buffer_bytes(&lower)));
    assert_true(tr_byte_key_range_contains(&range, tr_buffer_bytes(&upper)));
    assert_true(tr_bytes_compare(tr_buffer_bytes(&lower), tr_buffer_bytes(&upper)) <= 0);
    tr_code code =
        tr_byte_key_range_estimate_fraction(&range, tr_buffer_bytes(&upper), &back, NULL);
    assert_int_equal(code, TR_OK);
    assert_true(fabs(back - high) <= 0x1p-51);
    assert_true(back >= 0 && back <= 1);
    tr_byte_key_range_free(&range);
  }
  tr_buffer_free(&lower);
  tr_buffer_free(&upper);
}

/* Fails unless bounds ascend strictly from the start. */
typedef struct ascent {
  const tr_byte_key_range *range;
  tr_buffer before;
  int64_t count;
} ascent;

static tr_code check_ascent(void *context, tr_bytes bound, tr_error *err) {
  ascent *a = context;
  if (a->count == 0) {
    assert_int_equal(tr_bytes_compare(bound, tr_buffer_bytes(&a->range->start)), 0);
  } else if (bound.size > 0) {
    assert_true(tr_bytes_compare(tr_buffer_bytes(&a->before), bound) < 0);
  }
  a->count++;
  return tr_buffer_set(&a->before, bound, err);
}

static void test_split_ascends(void **state) {
  (void)state;
  test_random random = test_random_begin("splits ascend");
  for (long i = test_effort(20000); i > 0; i--) {
    tr_byte_key_range range;
    random_range(&random, &range);
    ascent a = {&range, {0}, 0};
    int64_t count = 1 + (int64_t)test_random_below(&random, 40);
    assert_int_equal(tr_byte_key_range_split(&range, count, check_ascent, &a, NULL), TR_OK);
    assert_int_equal(a.count, count + 1);
    assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&a.before), tr_buffer_bytes(&range.end)), 0);
    tr_buffer_free(&a.before);
    tr_byte_key_range_free(&range);
  }
}

static tr_code stop_at_third(void *context, tr_bytes bound, tr_error *err) {
  (void)bound;
  int *calls = context;
  return ++*calls == 3 ? tr_error_set(err, TR_INTERRUPTED, "enough") : TR_OK;
}

static void test_split_stops(void **state) {
  (void)state;
  const tr_byte_key_range all = {0};
  int calls = 0;
  tr_error err;
  assert_int_equal(tr_byte_key_range_split(&all, INT64_MAX, stop_at_third, &calls, &err),
                   TR_INTERRUPTED);
  assert_int_equal(calls, 3);
  assert_string_equal(err.message, "enough");
}

/* A megabyte takes part to its last byte. */
static void test_very_long_keys(void **state) {
  (void)state;
  size_t size = 1000000;
  uint8_t *bytes = calloc(2, size);
  assert_non_null(bytes);
  bytes[size - 1] = 1;
  bytes[2 * size - 1] = 5;
  tr_byte_key_range range;
  tr_buffer key = {0};
  double fraction;
  assert_int_equal(
      tr_byte_key_range_init(&range, (tr_bytes){bytes, size}, (tr_bytes){bytes + size, size}, NULL),
      TR_OK);
  /* The width is 4, so seven bytes more make it wide enough; a quarter is one unit. */
  assert_int_equal(tr_byte_key_range_interpolate(&range, 0.25, &key, NULL), TR_OK);
  assert_int_equal(key.size, size + 7);
  assert_int_equal(key.data[size - 1], 2);
  assert_int_equal(key.data[size], 0);
  assert_int_equal(
      tr_byte_key_range_estimate_fraction(&range, tr_buffer_bytes(&key), &fraction, NULL), TR_OK);
  assert_true(fraction == 0.25);
  tr_buffer_free(&key);
  tr_byte_key_range_free(&range);
  free(bytes);
}

/* A failed interpolation leaves the key as it was. */
static void test_failure_keeps_key(void **state) {
  (void)state;
  tr_byte_key_range range;
  tr_buffer key = {0};
  assert_int_equal(
      tr_byte_key_range_init(&range, tr_bytes_of_text("k"), tr_bytes_of_text("k"), NULL), TR_OK);
  assert_int_equal(tr_buffer_append_text(&key, "kept", NULL), TR_OK);
  assert_int_equal(tr_byte_key_range_interpolate(&range, 0.5, &key, NULL), TR_INVALID_STATE);
  assert_int_equal(tr_byte_key_range_interpolate(&range, NAN, &key, NULL), TR_INVALID_ARGUMENT);
  assert_is_text(&key, "kept");
  tr_buffer_free(&key);
  tr_byte_key_range_free(&range);
}

static tr_code keep_nothing(void *context, tr_bytes bound, tr_error *err) {
  (void)context, (void)bound, (void)err;
  return TR_OK;
}

static tr_code use_all(void *context) {
  (void)context;
  uint8_t bytes[400] = {0};
  bytes[399] = 1;
  tr_byte_key_range range, none = {0};
  tr_buffer text = {0}, key = {0};
  tr_code code =
      tr_byte_key_range_init(&range, (tr_bytes){bytes, 399}, (tr_bytes){bytes, 400}, NULL);
  if (code != TR_OK) return code;
  code = tr_byte_key_range_init_no_keys(&none, NULL);
  if (code == TR_OK) code = tr_byte_key_range_text(&range, &text, NULL);
  if (code != TR_OK) assert_int_equal(text.size, 0);
  if (code == TR_OK) code = tr_byte_key_range_interpolate(&range, 0.5, &key, NULL);
  if (code != TR_OK) assert_int_equal(key.size, 0);
  if (code == TR_OK) code = tr_byte_key_range_split(&range, 3, keep_nothing, NULL, NULL);
  tr_buffer_free(&text);
  tr_buffer_free(&key);
  tr_byte_key_range_free(&range);
  tr_byte_key_range_free(&none);
  return code;
}

static void test_no_memory(void **state) {
  (void)state;
  assert_in_range(test_memory_fail_each(use_all, NULL), 9, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_no_keys),
      cmocka_unit_test(test_long_key_in_message),
      cmocka_unit_test(test_interpolation),
      cmocka_unit_test(test_split_ascends),
      cmocka_unit_test(test_split_stops),
      cmocka_unit_test(test_very_long_keys),
      cmocka_unit_test(test_failure_keeps_key),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("byte_key_range", tests, NULL, NULL);
}
