/*
** base/double_text.h: known texts, the texts in the recorded vectors, that no shorter digits would
** do, and a locale that writes a comma.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/double_text.h"
#include "effort.h"
#include "jsonl.h"
#include "test_random.h"

static const struct {
  double x;
  const char *text;
} known[] = {
    {0.0, "0.0"},
    {-0.0, "-0.0"},
    {1, "1.0"},
    {-1.5, "-1.5"},
    {100, "100.0"},
    {0.1, "0.1"},
    {0.001, "0.001"},
    {0.00123, "0.00123"},
    {0.0009999, "9.999E-4"},
    {1e-9, "1.0E-9"},
    {9999999, "9999999.0"},
    {1e7, "1.0E7"},
    {12345678.9, "1.23456789E7"},
    {1.0 / 3, "0.3333333333333333"},
    {2.0 / 3, "0.6666666666666666"},
    {5e-324, "4.9E-324"}, /* two digits, nearer than 5E-324 */
    {1e-323, "9.9E-324"}, /* nearer than 1.0E-323 */
    {2e-323, "2.0E-323"},
    {2.5e-323, "2.5E-323"},
    {1.2e-322, "1.2E-322"},
    {2e23, "2.0E23"},
    {1e23, "1.0E23"},
    {8.41e21, "8.41E21"},
    {9.007199254740993e15, "9.007199254740992E15"},
    {DBL_MIN, "2.2250738585072014E-308"},
    {DBL_MAX, "1.7976931348623157E308"},
    {0x1p-44, "5.684341886080802E-14"}, /* 17 digits if one takes the nearest of 16 */
    {0x1.0p-1022 - 0x1p-1074, "2.225073858507201E-308"},
    {9223372036854775808.0, "9.223372036854776E18"},
    {HUGE_VAL, "Infinity"},
    {-HUGE_VAL, "-Infinity"},
    {NAN, "NaN"},
};

static void test_known(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char text[TR_DOUBLE_TEXT_SIZE];
    assert_string_equal(tr_double_text(known[i].x, text), known[i].text);
  }
}

/* Numbers in the vectors stand as the reference's language prints them. */
static void test_vectors(void **state) {
  (void)state;
  jsonl *file = jsonl_open("tests/vectors/byte_key_range.jsonl");
  long compared = 0;
  for (const char *line; (line = jsonl_next(file)) != NULL;) {
    static const char *const members[] = {"fraction", "ret"};
    for (size_t i = 0; i < 2; i++) {
      if (!jsonl_has(file, line, members[i])) continue;
      const char *raw = jsonl_json(file, line, members[i]);
      if ((raw[0] < '0' || raw[0] > '9') && raw[0] != '-') continue;
      char text[TR_DOUBLE_TEXT_SIZE];
      assert_string_equal(tr_double_text(jsonl_double(file, line, members[i]), text), raw);
      compared++;
    }
  }
  jsonl_close(file);
  assert_in_range(compared, 1500, 5000);
}

/* The double that `count` digits before `exponent` name. */
static double read_digits(const char *digits, int count, int exponent) {
  char text[64];
  snprintf(text, sizeof text, "0.%.*se%d", count, digits, exponent);
  return strtod(text, NULL);
}

/* Adds one unit in the last place; 1 if it carried out of the first digit. */
static int step_up(char *digits, int count) {
  for (int i = count; i-- > 0;) {
    if (digits[i] != '9') {
      digits[i]++;
      return 0;
    }
    digits[i] = '0';
  }
  return 1;
}

/* Neither the digits cut off by one nor the next number of that length reads back. */
static void assert_shortest(double x) {
  tr_double_digits number = tr_double_shortest(x);
  assert_in_range(number.count, 1, 17);
  assert_int_not_equal(number.digits[0], '0');
  assert_int_not_equal(number.digits[number.count - 1], '0');
  assert_true(read_digits(number.digits, number.count, number.exponent) == fabs(x));
  if (number.count <= 2) return; /* two digits are allowed where one would do */
  int shorter = number.count - 1;
  assert_false(read_digits(number.digits, shorter, number.exponent) == fabs(x));
  if (!step_up(number.digits, shorter)) {
    assert_false(read_digits(number.digits, shorter, number.exponent) == fabs(x));
  }
}

static void test_shortest(void **state) {
  (void)state;
  test_random random = test_random_begin("shortest digits");
  for (int exponent = -1074; exponent <= 1023; exponent++) assert_shortest(ldexp(1, exponent));
  for (long i = test_effort(100000); i > 0; i--) {
    uint64_t bits = test_random_next(&random);
    if (i % 8 == 0) bits &= UINT64_MAX >> (12 + test_random_below(&random, 50)); /* subnormal */
    double x;
    memcpy(&x, &bits, sizeof x);
    if (isfinite(x) && x != 0) assert_shortest(x);
    assert_shortest((double)(1 + bits % 10000000) / 1000);
  }
}

static void test_foreign_locale(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                      "ru_RU.UTF-8"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && found == NULL; i++) {
    found = setlocale(LC_ALL, names[i]);
  }
  if (found == NULL) skip(); /* none of them is installed here */
  assert_string_equal(localeconv()->decimal_point, ",");
  test_known(state);
  setlocale(LC_ALL, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known),
      cmocka_unit_test(test_vectors),
      cmocka_unit_test(test_shortest),
      cmocka_unit_test(test_foreign_locale),
  };
  return cmocka_run_group_tests_name("double_text", tests, NULL, NULL);
}
