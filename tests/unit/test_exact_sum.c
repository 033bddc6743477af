/*
** Exact sums: where they keep their value, how much memory that takes (as docs/accumulators.md
** says), and that neither repeated merging nor removing makes them grow. replay_exact_sums checks
** their values against exact fractions, and test_combine_laws checks them in all orders.
*/
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "combine/exact_sum.h"
#include "effort.h"
#include "test_memory.h"
#include "test_random.h"

static void add(tr_exact_sum *sum, double x) {
  tr_value value = tr_value_real(x);
  assert_int_equal(tr_exact_sum_add(sum, &value, TR_EXACT_ADD, NULL), TR_OK);
}

static void add_square(tr_exact_sum *sum, double x) {
  tr_value value = tr_value_real(x);
  assert_int_equal(tr_exact_sum_add_square(sum, &value, TR_EXACT_ADD, NULL), TR_OK);
}

static double rounded(const tr_exact_sum *sum) {
  tr_exact_number number;
  tr_exact_sum_number(sum, &number);
  return tr_exact_number_quotient(&number, 1);
}

static void usual_columns_need_no_memory(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_exact_sum");
  tr_exact_sum prices = {0}, integers = {0}, squares = {0}, measures = {0}, mixed = {0};
  for (long i = 0; i < test_effort(100000); i++) {
    uint64_t bits = test_random_next(&random);
    tr_value integer = tr_value_integer((int64_t)bits);
    tr_value count = tr_value_integer((int64_t)(bits % 1000000));
    add(&prices, (double)(bits % 10000000) / 100);
    add(&measures, ldexp((double)(bits >> 11), -53) * 1e-3 + 273.15);
    assert_int_equal(tr_exact_sum_add(&integers, &integer, TR_EXACT_ADD, NULL), TR_OK);
    assert_int_equal(tr_exact_sum_add_square(&squares, &count, TR_EXACT_ADD, NULL), TR_OK);
    assert_int_equal(tr_exact_sum_add(&mixed, &count, TR_EXACT_ADD, NULL), TR_OK);
    add(&mixed, (double)(bits % 1000) / 8);
  }
  assert_int_equal(tr_exact_sum_heap_size(&prices), 0);
  assert_int_equal(tr_exact_sum_heap_size(&integers), 0);
  assert_int_equal(tr_exact_sum_heap_size(&squares), 0);
  assert_int_equal(tr_exact_sum_heap_size(&measures), 0);
  assert_int_equal(tr_exact_sum_heap_size(&mixed), 0);
  assert_int_equal(test_memory_live(), 0);
}

static void no_column_needs_more_than_documented(void **unused) {
  (void)unused;
  tr_exact_sum sum = {0}, squares = {0}, usual = {0};
  for (int exponent = -1074; exponent <= 1023; exponent++) {
    add(&sum, ldexp(1, exponent));
    add_square(&squares, ldexp(1, exponent));
  }
  add(&sum, DBL_MAX);
  add(&sum, HUGE_VAL);
  add_square(&squares, DBL_MAX);
  for (int i = 0; i < 1000; i++) add_square(&usual, i * 0.01 + 100);
  assert_true(tr_exact_sum_heap_size(&sum) <= 600);
  assert_true(tr_exact_sum_heap_size(&squares) <= 1200);
  assert_true(tr_exact_sum_heap_size(&usual) <= 120);
  tr_exact_sum_free(&sum);
  tr_exact_sum_free(&squares);
  tr_exact_sum_free(&usual);
}

/* A window has room below its lowest bit. It must not move down by that with each merge. */
static void merging_does_not_grow(void **unused) {
  (void)unused;
  tr_exact_sum window = {0}, digits = {0};
  add(&window, 0x1p-1074);
  add_square(&digits, 0x1p-537);
  add(&digits, 1);
  size_t before = tr_exact_sum_heap_size(&digits);
  for (int i = 0; i < 200; i++) {
    tr_exact_sum again = {0}, more = {0};
    assert_int_equal(tr_exact_sum_merge(&again, &window, NULL), TR_OK);
    assert_int_equal(tr_exact_sum_merge(&more, &digits, NULL), TR_OK);
    tr_exact_sum_free(&window);
    tr_exact_sum_free(&digits);
    window = again;
    digits = more;
  }
  assert_true(rounded(&window) == 0x1p-1074);
  assert_int_equal(tr_exact_sum_heap_size(&window), 0);
  assert_true(rounded(&digits) == 1);
  assert_true(tr_exact_sum_heap_size(&digits) <= before + 16);
  tr_exact_sum_free(&digits);
}

static void infinities_come_and_go(void **unused) {
  (void)unused;
  tr_exact_sum sum = {0};
  tr_value plus = tr_value_real(HUGE_VAL), minus = tr_value_real(-HUGE_VAL);
  add(&sum, 0.1);
  add(&sum, HUGE_VAL);
  add(&sum, HUGE_VAL);
  assert_true(tr_exact_sum_infinity(&sum) == HUGE_VAL);
  add(&sum, -HUGE_VAL);
  assert_true(isnan(tr_exact_sum_infinity(&sum)));
  assert_int_equal(tr_exact_sum_add(&sum, &plus, TR_EXACT_SUBTRACT, NULL), TR_OK);
  assert_int_equal(tr_exact_sum_add(&sum, &plus, TR_EXACT_SUBTRACT, NULL), TR_OK);
  assert_true(tr_exact_sum_infinity(&sum) == -HUGE_VAL);
  assert_int_equal(tr_exact_sum_add(&sum, &minus, TR_EXACT_SUBTRACT, NULL), TR_OK);
  assert_true(tr_exact_sum_infinity(&sum) == 0);
  assert_true(rounded(&sum) == 0.1);
  tr_exact_sum_free(&sum);
}

/* Sums that fill 128 bits, of either sign, and go beyond. */
static void a_full_window_overflows_into_digits(void **unused) {
  (void)unused;
  for (int sign = -1; sign <= 1; sign += 2) {
    tr_exact_sum sum = {0}, doubled = {0};
    tr_value one = tr_value_integer(sign);
    assert_int_equal(tr_exact_sum_add(&sum, &one, TR_EXACT_ADD, NULL), TR_OK);
    for (int i = 0; i < 200; i++) {
      doubled = (tr_exact_sum){0};
      assert_int_equal(tr_exact_sum_merge(&doubled, &sum, NULL), TR_OK);
      assert_int_equal(tr_exact_sum_merge(&doubled, &sum, NULL), TR_OK);
      assert_int_equal(tr_exact_sum_add(&doubled, &one, TR_EXACT_ADD, NULL), TR_OK);
      tr_exact_sum_free(&sum);
      sum = doubled;
    }
    /* 2^201 - 1 */
    tr_exact_number number;
    tr_exact_sum_number(&sum, &number);
    assert_int_equal(number.is_negative, sign < 0);
    assert_int_equal(number.exponent, 0);
    assert_int_equal(tr_natural_bits(&number.magnitude), 201);
    assert_int_equal(number.magnitude.digits[6], (1 << 9) - 1);
    for (int i = 0; i < 6; i++) assert_int_equal(number.magnitude.digits[i], UINT32_MAX);
    tr_exact_sum_free(&sum);
  }
}

/* An infinity is no term, even where a term of its exponent would fit. */
static void quick_is_only_what_is_finite(void **unused) {
  (void)unused;
  tr_exact_sum sum = {0};
  add(&sum, DBL_MAX);
  assert_int_equal(tr_exact_sum_add_real(&sum, -DBL_MAX / 2), 1);
  assert_int_equal(tr_exact_sum_add_real(&sum, INFINITY), 0);
  assert_int_equal(tr_exact_sum_add_real(&sum, -INFINITY), 0);
  assert_true(rounded(&sum) == DBL_MAX / 2 && tr_exact_sum_infinities(&sum) == 0);
  assert_int_equal(tr_exact_sum_heap_size(&sum), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(usual_columns_need_no_memory),
      cmocka_unit_test(no_column_needs_more_than_documented),
      cmocka_unit_test(merging_does_not_grow),
      cmocka_unit_test(infinities_come_and_go),
      cmocka_unit_test(a_full_window_overflows_into_digits),
      cmocka_unit_test(quick_is_only_what_is_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
