/*
** Natural numbers: products and quotients of random numbers of every size against each other,
** shifts and decimal digits, roots and rounding against what the C library computes exactly.
*/
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "combine/natural.h"
#include "effort.h"
#include "test_random.h"

/* Digits that make carries and the rare steps of a division frequent. */
static void random_natural(test_random *random, int most_digits, tr_natural *n) {
  static const uint32_t digits[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  n->count = (int)test_random_below(random, (uint64_t)most_digits + 1);
  for (int i = 0; i < n->count; i++) {
    n->digits[i] = test_random_below(random, 3) ? digits[test_random_below(random, 7)]
                                                : (uint32_t)test_random_next(random);
  }
  while (n->count > 0 && n->digits[n->count - 1] == 0) n->count--;
}

/* a + b, which the unit itself has no use for. */
static tr_natural sum_of(const tr_natural *a, const tr_natural *b) {
  tr_natural sum;
  uint64_t carry = 0;
  int count = a->count > b->count ? a->count : b->count;
  for (int i = 0; i < count; i++) {
    carry += (uint64_t)(i < a->count ? a->digits[i] : 0) + (i < b->count ? b->digits[i] : 0);
    sum.digits[i] = (uint32_t)carry;
    carry >>= 32;
  }
  sum.count = count;
  if (carry > 0) sum.digits[sum.count++] = (uint32_t)carry;
  return sum;
}

static void a_product_and_less_divides_back(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_natural");
  long divided = 0;
  for (long i = 0; i < test_effort(300000); i++) {
    tr_natural quotient, divisor, rest, product;
    random_natural(&random, 8, &quotient);
    random_natural(&random, 5, &divisor);
    random_natural(&random, 5, &rest);
    if (divisor.count == 0) continue;
    int too_many = tr_natural_bits(&rest) - tr_natural_bits(&divisor);
    if (too_many >= 0) tr_natural_shift_right(&rest, too_many + 1);
    tr_natural_multiply(&quotient, &divisor, &product);
    tr_natural n = sum_of(&product, &rest);
    int has_rest = tr_natural_divide(&n, &divisor);
    assert_int_equal(has_rest, rest.count > 0);
    if (tr_natural_compare(&n, &quotient) != 0) fail_msg("a quotient of %d digits", quotient.count);
    divided++;
  }
  assert_true(divided > 0);
}

static void shifts_undo_each_other(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_natural");
  for (long i = 0; i < test_effort(100000); i++) {
    tr_natural n, moved;
    random_natural(&random, 10, &n);
    int bits = (int)test_random_below(&random, 200);
    moved = n;
    tr_natural_shift_left(&moved, bits);
    if (n.count > 0) {
      assert_int_equal(tr_natural_bits(&moved), tr_natural_bits(&n) + bits);
      assert_int_equal(tr_natural_trailing_zeros(&moved), tr_natural_trailing_zeros(&n) + bits);
    }
    tr_natural_shift_right(&moved, bits);
    assert_int_equal(tr_natural_compare(&moved, &n), 0);
    tr_natural_shift_right(&moved, tr_natural_bits(&n));
    assert_int_equal(moved.count, 0);
  }
}

static void bytes_come_back(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_natural");
  for (long i = 0; i < test_effort(20000); i++) {
    tr_natural n, read;
    tr_buffer bytes = {0};
    random_natural(&random, 10, &n);
    assert_int_equal(tr_natural_append_bytes(&n, &bytes, NULL), TR_OK);
    assert_int_equal(bytes.size, (size_t)(tr_natural_bits(&n) + 7) / 8);
    tr_natural_read_bytes(&read, tr_buffer_bytes(&bytes));
    assert_int_equal(tr_natural_compare(&read, &n), 0);
    tr_buffer_free(&bytes);
  }
}

static void decimal_digits(void **unused) {
  (void)unused;
  static const struct {
    int shift;
    const char *digits;
  } cases[] = {{0, "1"},
               {3, "8"},
               {63, "9223372036854775808"},
               {64, "18446744073709551616"},
               {126, "85070591730234615865843651857942052864"},
               {127, "170141183460469231731687303715884105728"}};
  char text[41];
  tr_natural n;
  tr_natural_set(&n, 0);
  tr_natural_decimal(&n, text);
  assert_string_equal(text, "0");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_natural_set(&n, 1);
    tr_natural_shift_left(&n, cases[i].shift);
    tr_natural_decimal(&n, text);
    assert_string_equal(text, cases[i].digits);
  }
}

/* What a double times a power of two is, the library knows exactly: ldexp rounds once, to even. */
static void rounding_is_to_nearest_even(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_natural");
  for (long i = 0; i < test_effort(200000); i++) {
    uint64_t bits = test_random_next(&random) >> test_random_below(&random, 64);
    int exponent = (int)test_random_below(&random, 2200) - 1150;
    tr_natural n;
    tr_natural_set(&n, bits);
    if (bits >> 53 == 0) {
      double expected = ldexp((double)bits, exponent);
      if (tr_natural_round(&n, 0, exponent) != expected) fail_msg("%a", expected);
    }
    /* Halfway between m and m + 1, two doubles next to each other: a rest decides. */
    uint64_t m = bits >> 11;
    if (m >> 52 == 0) continue;
    tr_natural_set(&n, 2 * m + 1);
    assert_true(tr_natural_round(&n, 0, -1) == (double)(m % 2 == 0 ? m : m + 1));
    assert_true(tr_natural_round(&n, 1, -1) == (double)(m + 1));
  }
}

static void roots_of_squares_are_exact(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_natural");
  for (long i = 0; i < test_effort(100000); i++) {
    uint64_t root = test_random_next(&random) >> (11 + test_random_below(&random, 53));
    int exponent = ((int)test_random_below(&random, 500) - 250) * 2;
    tr_natural n, square;
    tr_natural_set(&n, root);
    tr_natural_multiply(&n, &n, &square);
    double expected = ldexp((double)root, exponent / 2);
    if (tr_natural_round_root(&square, 0, exponent) != expected) fail_msg("%a", expected);
    if (square.count == 0) continue;
    /* The exponent's last bit may just as well be in the number. */
    tr_natural_shift_left(&square, 1);
    if (tr_natural_round_root(&square, 0, exponent - 1) != expected) fail_msg("%a, odd", expected);
  }
}

/* A root of 54 bits lies halfway between two doubles: the least change of the square decides. */
static void roots_are_rounded_once(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_natural");
  tr_natural one, n, square;
  tr_natural_set(&one, 1);
  for (long i = 0; i < test_effort(100000); i++) {
    uint64_t root = test_random_next(&random) >> 10 | UINT64_C(1) << 53 | 1;
    if (i < 10) root = (UINT64_C(1) << 54) - 1 - 2 * (uint64_t)i;
    tr_natural_set(&n, root);
    tr_natural_multiply(&n, &n, &square);
    assert_true(tr_natural_round_root(&square, 0, 0) == (double)root);
    assert_true(tr_natural_round_root(&square, 1, 0) == (double)(root + 1));
    tr_natural_subtract(&square, &one);
    assert_true(tr_natural_round_root(&square, 0, 0) == (double)(root - 1));
    assert_true(tr_natural_round_root(&square, 1, 0) == (double)(root - 1));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_and_less_divides_back),
      cmocka_unit_test(shifts_undo_each_other),
      cmocka_unit_test(bytes_come_back),
      cmocka_unit_test(decimal_digits),
      cmocka_unit_test(rounding_is_to_nearest_even),
      cmocka_unit_test(roots_of_squares_are_exact),
      cmocka_unit_test(roots_are_rounded_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
