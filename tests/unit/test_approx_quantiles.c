/*
** combine/approx_quantiles.h: picks, numbers and text together, types, arguments, accumulators. The
** picks of the reference are replayed in tests/replay/replay_approximate_quantiles.c, the error
** bound is tested in test_kll.c.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combine/approx_quantiles.h"
#include "combining.h"
#include "test_memory.h"
#include "test_random.h"

static tr_value text(const char *of) {
  return tr_value_text(tr_bytes_of_text(of));
}

/* The values of a case end here. */
#define END tr_value_blob((tr_bytes){NULL, 0})

/* Adds all; half of them through a second accumulator and its BLOB. */
static void *accumulate(const tr_combine *combine, const tr_value *values) {
  void *state = combining_create(combine), *other = combining_create(combine);
  for (int i = 0; values[i].type != TR_BLOB; i++) {
    void *into = i % 2 == 0 ? state : other;
    assert_int_equal(combine->fn->add_input(combine, into, &values[i], NULL), TR_OK);
  }
  tr_combine read;
  tr_buffer blob = combining_write(combine, other);
  combining_free(combine, other);
  other = combining_read(tr_buffer_bytes(&blob), &read);
  assert_true(tr_combine_is_same_shape(combine, &read));
  assert_int_equal(combine->fn->merge_accumulators(combine, state, other, NULL), TR_OK);
  tr_buffer_free(&blob);
  combining_free(combine, other);
  return state;
}

static void expect_output(const char *function, tr_value argument, const tr_value *values,
                          const char *expected) {
  tr_value arguments[] = {tr_value_null(), argument};
  tr_combine combine = combining_bind(function, arguments, 2);
  void *state = accumulate(&combine, values);
  char *output = combining_output(&combine, state);
  if (strcmp(output, expected) != 0) fail_msg("%s, expected %s", output, expected);
  free(output);
  combining_free(&combine, state);
}

static tr_combine bind_quantile(double q) {
  tr_value arguments[] = {tr_value_null(), tr_value_real(q)};
  return combining_bind("approx_quantile", arguments, 2);
}

static void test_quantiles(void **state) {
  (void)state;
  const struct {
    int64_t n;
    tr_value values[8];
    const char *expected;
  } cases[] = {
      {3, {END}, "JSON []"},
      {3, {tr_value_null(), tr_value_null(), END}, "JSON []"},
      {3, {tr_value_integer(7), END}, "JSON [7,7,7]"},
      {2, {tr_value_integer(3), tr_value_integer(1), tr_value_integer(2), END}, "JSON [1,3]"},
      {3,
       {tr_value_integer(1), tr_value_null(), tr_value_integer(2), tr_value_null(),
        tr_value_integer(3), END},
       "JSON [1,2,3]"},
      {3,
       {tr_value_integer(1), tr_value_real(2.5), tr_value_integer(3), END},
       "JSON [1.0,2.5,3.0]"},
      {3,
       {tr_value_integer(INT64_MAX), tr_value_integer(INT64_MAX - 1), tr_value_integer(INT64_MIN),
        END},
       "JSON [-9223372036854775808,9223372036854775806,9223372036854775807]"},
      {3,
       {tr_value_real(HUGE_VAL), tr_value_integer(1), tr_value_real(-HUGE_VAL), END},
       "JSON [-9e999,1.0,9e999]"},
      {3, {text("b"), text("a"), text("c"), END}, "JSON [\"a\",\"b\",\"c\"]"},
      {5,
       {text("b"), tr_value_integer(2), text("a"), tr_value_integer(1), text("c"), END},
       "JSON [1,2,\"a\",\"b\",\"c\"]"},
      {2, {text("z"), tr_value_integer(1), END}, "JSON [1,\"z\"]"},
      {4, {text("9"), tr_value_integer(10), END}, "JSON [10,10,\"9\",\"9\"]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_output("approx_quantiles", tr_value_integer(cases[i].n), cases[i].values,
                  cases[i].expected);
  }
}

/* The smallest value with at least the fraction q of all at or below it. */
static void test_quantile(void **state) {
  (void)state;
  const tr_value none[] = {tr_value_null(), END};
  const tr_value ten[] = {text("x"),
                          text("y"),
                          text("z"),
                          tr_value_integer(1),
                          tr_value_integer(2),
                          tr_value_integer(3),
                          tr_value_integer(4),
                          tr_value_integer(5),
                          tr_value_integer(6),
                          tr_value_integer(7),
                          END};
  const struct {
    double q;
    const char *expected;
  } cases[] = {
      {0, "INTEGER 1"},   {0.1, "INTEGER 1"}, {0.11, "INTEGER 2"}, {0.5, "INTEGER 5"},
      {0.7, "INTEGER 7"}, {0.701, "TEXT x"},  {0.99, "TEXT z"},    {1, "TEXT z"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_output("approx_quantile", tr_value_real(cases[i].q), ten, cases[i].expected);
  }
  expect_output("approx_quantile", tr_value_real(0.5), none, "NULL ");
}

/*
** q is often i / count, as a decimal or as a quotient of REALs: that is rank i, though q * count
** may be just above i. The rule is that of SQL's cume_dist() >= q.
*/
static void test_quantile_is_of_that_rank(void **state) {
  (void)state;
  for (int64_t count = 1; count <= 1000; count = count < 130 ? count + 1 : count * 3 / 2) {
    tr_combine combine = bind_quantile(0);
    void *accumulator = combining_create(&combine);
    for (int64_t i = 1; i <= count; i++) {
      tr_value value = tr_value_integer(i);
      assert_int_equal(combine.fn->add_input(&combine, accumulator, &value, NULL), TR_OK);
    }
    for (int64_t i = 1; i <= count; i++) {
      char decimal[32];
      double q = (double)i / (double)count;
      snprintf(decimal, sizeof decimal, "%.2f", q);
      const double fractions[] = {q, nextafter(q, 0), nextafter(q, 2), strtod(decimal, NULL)};
      const int64_t hundredths = llround(100 * fractions[3]);
      const int64_t ranks[] = {i, i, i < count ? i + 1 : i,
                               hundredths == 0 ? 1 : (hundredths * count + 99) / 100};
      for (int j = 0; j < 4; j++) {
        char expected[32];
        if (fractions[j] > 1) continue;
        combine.parameters[1] = tr_value_real(fractions[j]);
        snprintf(expected, sizeof expected, "INTEGER %lld", (long long)ranks[j]);
        char *output = combining_output(&combine, accumulator);
        if (strcmp(output, expected) != 0) {
          fail_msg("%.17g of 1..%lld: %s, expected %s", fractions[j], (long long)count, output,
                   expected);
        }
        free(output);
      }
    }
    combining_free(&combine, accumulator);
  }
}

/* The ends are exact at any size; what is between is near. */
static void test_many_values(void **state) {
  (void)state;
  tr_value arguments[] = {tr_value_null(), tr_value_integer(5)};
  tr_combine combine = combining_bind("approx_quantiles", arguments, 2);
  void *accumulator = combining_create(&combine);
  for (int64_t i = 0; i < 100000; i++) {
    tr_value value = tr_value_integer(i * 7919 % 100000);
    assert_int_equal(combine.fn->add_input(&combine, accumulator, &value, NULL), TR_OK);
  }
  char *output = combining_output(&combine, accumulator), *at = output + strlen("JSON [");
  for (int i = 0; i < 5; i++) {
    double value = strtod(at, &at);
    assert_true(fabs(value - 100000 * i / 4.0) <= (i % 4 == 0 ? 1 : 500));
    at++;
  }
  free(output);
  assert_in_range(combine.fn->heap_size(accumulator), 1, 56 * 1024);
  combining_free(&combine, accumulator);
}

static void test_arguments(void **state) {
  (void)state;
  const struct {
    const char *function;
    tr_value argument;
    const char *message; /* NULL: fine */
  } cases[] = {
      {"approx_quantiles", tr_value_integer(2), NULL},
      {"approx_quantiles", tr_value_integer(TR_QUANTILES_MAX), NULL},
      {"approx_quantiles", tr_value_real(3.0), NULL},
      {"approx_quantiles", tr_value_integer(1), "approx_quantiles(): argument n = 1: "},
      {"approx_quantiles", tr_value_integer(TR_QUANTILES_MAX + 1),
       "approx_quantiles(): argument n = "},
      {"approx_quantiles", tr_value_real(2.5), "approx_quantiles(): argument n = 2.5: "},
      {"approx_quantiles", tr_value_null(), "approx_quantiles(): argument n = NULL: "},
      {"approx_quantile", tr_value_integer(1), NULL},
      {"approx_quantile", tr_value_real(-0.1),
       "approx_quantile(): argument q = -0.1: must be within 0..1"},
      {"approx_quantile", tr_value_real(1.5),
       "approx_quantile(): argument q = 1.5: must be within 0..1"},
      {"approx_quantile", text("0.5"), "approx_quantile(): argument q = '0.5': must be a number"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_combine combine;
    tr_error err = {0};
    tr_value arguments[] = {tr_value_null(), cases[i].argument};
    tr_code code =
        tr_combine_bind(combining_function(cases[i].function), arguments, 2, &combine, &err);
    assert_int_equal(code, cases[i].message == NULL ? TR_OK : TR_INVALID_ARGUMENT);
    if (cases[i].message != NULL && strstr(err.message, cases[i].message) != err.message) {
      fail_msg("%s", err.message);
    }
  }
}

static void test_blob_is_refused(void **state) {
  (void)state;
  tr_value arguments[] = {tr_value_null(), tr_value_integer(3)},
           blob = tr_value_blob(tr_bytes_of_text("1"));
  tr_combine combine = combining_bind("approx_quantiles", arguments, 2);
  void *accumulator = combining_create(&combine);
  tr_error err;
  assert_int_equal(combine.fn->add_input(&combine, accumulator, &blob, &err), TR_INVALID_ARGUMENT);
  assert_string_equal(err.message,
                      "approx_quantiles(): argument x = x'31': must be a number or text");
  char *output = combining_output(&combine, accumulator);
  assert_string_equal(output, "JSON []");
  free(output);
  combining_free(&combine, accumulator);
}

/* Any damage to the state's bytes is refused or harmless. */
static void test_damage(void **state) {
  (void)state;
  tr_value arguments[] = {tr_value_null(), tr_value_integer(3)};
  tr_combine combine = combining_bind("approx_quantiles", arguments, 2);
  void *accumulator = combining_create(&combine);
  const tr_value values[] = {tr_value_integer(1), text("a"), tr_value_integer(5), text("b")};
  for (int i = 0; i < 400; i++) {
    assert_int_equal(combine.fn->add_input(&combine, accumulator, &values[i % 4], NULL), TR_OK);
  }
  tr_buffer bytes = {0};
  assert_int_equal(combine.fn->write_accumulator(&combine, accumulator, &bytes, NULL), TR_OK);
  combining_free(&combine, accumulator);
  for (size_t cut = 0; cut < bytes.size; cut++) {
    tr_quantiles read = {0};
    tr_error err;
    tr_code code = combine.fn->read_accumulator(&combine, &read, (tr_bytes){bytes.data, cut}, &err);
    /* Cut right behind the numbers it is an accumulator of numbers. */
    if (code == TR_OK) assert_int_equal(tr_kll_count(&read.texts), 0);
    if (code == TR_OK) combine.fn->free_accumulator(&read);
  }
  for (size_t bit = 0; bit < bytes.size * 8; bit++) {
    tr_quantiles read = {0};
    bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    tr_code code = combine.fn->read_accumulator(&combine, &read, tr_buffer_bytes(&bytes), NULL);
    assert_true(code == TR_OK || code == TR_CORRUPT);
    if (code == TR_OK) combine.fn->free_accumulator(&read);
    bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  tr_buffer_free(&bytes);
  assert_int_equal(test_memory_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quantiles),
      cmocka_unit_test(test_quantile),
      cmocka_unit_test(test_quantile_is_of_that_rank),
      cmocka_unit_test(test_many_values),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_blob_is_refused),
      cmocka_unit_test(test_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
