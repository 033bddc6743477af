/*
** base/value.h: SQLite's order by a list of values that ascends, and integers against doubles by
** another way of comparing them. tests/host/test_byte_key_order.c compares with SQLite itself.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "base/value.h"
#include "effort.h"
#include "test_random.h"

static int order_of(int comparison) {
  return (comparison > 0) - (comparison < 0);
}

static void test_ascending(void **state) {
  (void)state;
  const tr_value ascending[] = {
      tr_value_null(),
      tr_value_real(-HUGE_VAL),
      tr_value_real(nextafter(-0x1p63, -HUGE_VAL)),
      tr_value_integer(INT64_MIN),
      tr_value_integer(-9007199254740993),
      tr_value_real(-9007199254740992.0),
      tr_value_integer(-9007199254740991),
      tr_value_integer(-1),
      tr_value_real(-0x1p-1074),
      tr_value_integer(0),
      tr_value_real(0x1p-1074),
      tr_value_real(0.5),
      tr_value_integer(1),
      tr_value_real(9007199254740992.0),
      tr_value_integer(9007199254740993),
      tr_value_integer(INT64_MAX - 512),
      tr_value_integer(INT64_MAX),
      tr_value_real(0x1p63),
      tr_value_real(HUGE_VAL),
      tr_value_text(tr_bytes_of_text("")),
      tr_value_text(tr_bytes_of_text("9")),
      tr_value_text(tr_bytes_of_text("Z")),
      tr_value_text(tr_bytes_of_text("a")),
      tr_value_text(tr_bytes_of_text("aa")),
      tr_value_blob((tr_bytes){NULL, 0}),
      tr_value_blob(tr_bytes_of_text("9")),
  };
  int count = sizeof ascending / sizeof *ascending;
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) {
      int order = tr_value_compare(&ascending[i], &ascending[j]);
      if (order_of(order) != order_of(i - j)) fail_msg("values %d and %d", i, j);
    }
  }
}

static void test_equal(void **state) {
  (void)state;
  const tr_value equal[][2] = {
      {tr_value_null(), tr_value_null()},
      {tr_value_real(NAN), tr_value_null()},
      {tr_value_integer(0), tr_value_real(0.0)},
      {tr_value_integer(0), tr_value_real(-0.0)},
      {tr_value_real(0.0), tr_value_real(-0.0)},
      {tr_value_integer(INT64_MIN), tr_value_real(-0x1p63)},
      {tr_value_integer(INT64_C(1) << 53), tr_value_real(0x1p53)},
      {tr_value_text((tr_bytes){NULL, 0}), tr_value_text(tr_bytes_of_text(""))},
  };
  for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
    assert_int_equal(tr_value_compare(&equal[i][0], &equal[i][1]), 0);
    assert_int_equal(tr_value_compare(&equal[i][1], &equal[i][0]), 0);
  }
}

/* Without any rounding: the double's whole part taken apart with frexp, in integers. */
static int compare_slowly(int64_t integer, double real) {
  int exponent;
  double mantissa = frexp(real, &exponent);
  if (isinf(real) || exponent > 64) return real > 0 ? -1 : 1;
  int is_negative = real < 0;
  uint64_t magnitude = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
  if (integer < 0 && !is_negative) return -1;
  if (integer >= 0 && is_negative) return 1;
  /* |real| = digits * 2^(exponent - 53) */
  uint64_t digits = (uint64_t)ldexp(fabs(mantissa), 53);
  int order;
  if (exponent >= 53) {
    uint64_t whole = exponent == 64 && digits >> 53 ? UINT64_MAX : digits << (exponent - 53);
    order = (magnitude > whole) - (magnitude < whole);
  } else {
    int shift = 53 - exponent;
    uint64_t whole = shift > 63 ? 0 : digits >> shift;
    int has_rest = shift > 63 ? digits != 0 : (whole << shift) != digits;
    order = magnitude != whole ? (magnitude > whole) - (magnitude < whole) : -has_rest;
  }
  return is_negative ? -order : order;
}

static void test_integer_against_real(void **state) {
  (void)state;
  test_random random = test_random_begin("integers against doubles");
  long compared = 0;
  for (long i = test_effort(1000000); i > 0; i--) {
    test_tuple a, b;
    test_random_tuple(&random, 1, &a);
    if (a.values[0].type != TR_INTEGER) continue;
    test_random_similar(&random, &a, &b);
    if (b.values[0].type != TR_REAL) test_random_tuple(&random, 1, &b);
    if (b.values[0].type != TR_REAL) continue;
    int64_t integer = a.values[0].integer;
    double real = b.values[0].real;
    assert_int_equal(order_of(tr_compare_integer_real(integer, real)),
                     compare_slowly(integer, real));
    int64_t exact = 0;
    int is_integer = tr_real_is_integer(real, &exact);
    if (is_integer) assert_int_equal(compare_slowly(exact, real), 0);
    if (compare_slowly(integer, real) == 0) assert_true(is_integer && exact == integer);
    compared++;
  }
  assert_true(compared > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ascending),
      cmocka_unit_test(test_equal),
      cmocka_unit_test(test_integer_against_real),
  };
  return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
