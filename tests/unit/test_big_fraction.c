/*
** range/big_fraction.h: numbers of up to eight bytes against 128-bit arithmetic, longer ones by
** what must hold when the same number is written with more bytes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "range/big_fraction.h"
#include "test_memory.h"
#include "test_random.h"

__extension__ typedef unsigned __int128 wide;

/* A number of eight bytes. */
typedef struct short_number {
  uint8_t bytes[8];
} short_number;

static tr_big big_of(uint64_t number, short_number *room) {
  for (int i = 0; i < 8; i++) room->bytes[i] = (uint8_t)(number >> (56 - 8 * i));
  return (tr_big){{room->bytes, 8}, 8};
}

static uint64_t number_of(const uint8_t *bytes) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) number = number << 8 | bytes[i];
  return number;
}

/* Three random numbers, ascending, of all magnitudes; low < high. */
static void random_line(test_random *random, uint64_t *low, uint64_t *x, uint64_t *high) {
  uint64_t width = test_random_next(random) >> test_random_below(random, 64);
  if (width == 0) width = 1;
  *low = test_random_next(random);
  if (*low > UINT64_MAX - width) *low = UINT64_MAX - width;
  uint64_t share = test_random_below(random, 8);
  uint64_t distance = share == 0   ? width
                      : share == 1 ? width - 1
                      : share == 2 ? 0
                                   : test_random_next(random) % width;
  *x = *low + distance;
  *high = *low + width;
}

static double ratio_of(uint64_t low, uint64_t x, uint64_t high) {
  wide quotient = ((wide)(x - low) << 64) / (high - low);
  return quotient >> 64 ? 1.0 : ldexp((double)(uint64_t)quotient, -64);
}

static size_t bits_of(uint64_t number) {
  size_t bits = 0;
  for (; number > 0; number >>= 1) bits++;
  return bits;
}

static void test_short_ratio(void **state) {
  (void)state;
  test_random random = test_random_begin("ratios of short numbers");
  for (long i = test_effort(500000); i > 0; i--) {
    uint64_t low, x, high;
    short_number rooms[3];
    random_line(&random, &low, &x, &high);
    tr_big big_low = big_of(low, &rooms[0]), big_high = big_of(high, &rooms[1]);
    assert_true(tr_big_ratio(big_low, big_high, big_of(x, &rooms[2])) == ratio_of(low, x, high));
    assert_int_equal(tr_big_difference_bits(big_low, big_high), bits_of(high - low));
  }
}

/* Decimal fractions of any length, with an exponent down to about 10^-30. */
static tr_double_digits random_fraction(test_random *random, uint64_t *digits, int *zeros) {
  tr_double_digits fraction = {.count = 1 + (int)test_random_below(random, 17)};
  fraction.exponent = -(int)(test_random_below(random, 3) == 0 ? test_random_below(random, 15) : 0);
  *digits = 0;
  for (int i = 0; i < fraction.count; i++) {
    char digit = (char)('0' + test_random_below(random, 10));
    if (digit == '0' && (i == 0 || i == fraction.count - 1)) digit = '9';
    fraction.digits[i] = digit;
    *digits = *digits * 10 + (uint64_t)(digit - '0');
  }
  *zeros = fraction.count - fraction.exponent;
  return fraction;
}

static wide power_of_ten(int exponent) {
  wide power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

static void test_short_interpolation(void **state) {
  (void)state;
  test_random random = test_random_begin("fractions of short numbers");
  for (long i = test_effort(500000); i > 0; i--) {
    uint64_t low, x, high, digits;
    int zeros;
    short_number rooms[2];
    uint8_t result[8];
    random_line(&random, &low, &x, &high);
    tr_double_digits fraction = random_fraction(&random, &digits, &zeros);
    assert_int_equal(tr_big_interpolate(big_of(low, &rooms[0]), big_of(high, &rooms[1]), &fraction,
                                        result, NULL),
                     TR_OK);
    uint64_t offset = (uint64_t)((wide)(high - low) * digits / power_of_ten(zeros));
    assert_true(number_of(result) == low + offset);
  }
}

/* A long number: eight leading bytes and `tail` others. */
static tr_big long_of(uint64_t leading, const uint8_t *noise, size_t tail, uint8_t *room) {
  short_number first;
  big_of(leading, &first);
  memcpy(room, first.bytes, 8);
  if (tail > 0) memcpy(room + 8, noise, tail);
  return (tr_big){{room, 8 + tail}, 8 + tail};
}

/* The same bytes at the end of all cancel out, but every word of them takes part. */
static void test_long_ratio(void **state) {
  (void)state;
  enum { LONGEST = 200 };
  test_random random = test_random_begin("ratios of long numbers");
  uint8_t noise[LONGEST], rooms[3][LONGEST + 8];
  for (long i = test_effort(100000); i > 0; i--) {
    uint64_t low, x, high;
    random_line(&random, &low, &x, &high);
    size_t tail = test_random_below(&random, LONGEST + 1);
    for (size_t n = 0; n < tail; n++) noise[n] = (uint8_t)test_random_next(&random);
    tr_big big_low = long_of(low, noise, tail, rooms[0]);
    tr_big big_high = long_of(high, noise, tail, rooms[1]);
    assert_true(tr_big_ratio(big_low, big_high, long_of(x, noise, tail, rooms[2])) ==
                ratio_of(low, x, high));
    assert_int_equal(tr_big_difference_bits(big_low, big_high), bits_of(high - low) + 8 * tail);
  }
}

/* The quotient is cut off: just below a whole 64th binary digit is the digit before. */
static void test_ratio_is_cut_off(void **state) {
  (void)state;
  uint8_t low[24] = {0}, high[24] = {1}, x[24] = {0};
  tr_big big_low = {{low, 24}, 24}, big_high = {{high, 24}, 24}, big_x = {{x, 24}, 24};
  x[8] = 3; /* 3 / 2^64 */
  assert_true(tr_big_ratio(big_low, big_high, big_x) == 0x3p-64);
  x[8] = 2;
  memset(x + 9, 0xff, 15);
  assert_true(tr_big_ratio(big_low, big_high, big_x) == 0x2p-64);
  memset(x, 0xff, sizeof x);
  x[0] = 0;
  assert_true(tr_big_ratio(big_low, big_high, big_x) == 1.0); /* 1 - 2^-64 rounds to 1 */
  /* The leading 64 bits alone say 2 / 2^64; those behind them make it less. */
  memset(high, 0, sizeof high);
  high[0] = 0x80;
  memset(high + 8, 0xff, 16);
  memset(x, 0, sizeof x);
  x[7] = 1;
  assert_true(tr_big_ratio(big_low, big_high, big_x) == 0x1p-64);
}

/* Zero bytes at the end of both only add digits behind the same ones. */
static void test_long_interpolation(void **state) {
  (void)state;
  enum { LONGEST = 400 };
  test_random random = test_random_begin("fractions of long numbers");
  static const uint8_t none[LONGEST];
  uint8_t rooms[2][LONGEST + 8], result[LONGEST + 8];
  for (long i = test_effort(50000); i > 0; i--) {
    uint64_t low, x, high, digits;
    int zeros;
    random_line(&random, &low, &x, &high);
    size_t tail = test_random_below(&random, LONGEST + 1);
    tr_double_digits fraction = random_fraction(&random, &digits, &zeros);
    tr_big big_low = long_of(low, none, tail, rooms[0]);
    tr_big big_high = long_of(high, none, tail, rooms[1]);
    assert_int_equal(tr_big_interpolate(big_low, big_high, &fraction, result, NULL), TR_OK);
    uint64_t offset = (uint64_t)((wide)(high - low) * digits / power_of_ten(zeros));
    assert_true(number_of(result) == low + offset);
  }
}

/* 10^17 units of `tail` bytes: a fraction of 17 digits is so many units, to the last byte. */
static void check_units(size_t tail) {
  static const tr_double_digits fraction = {"12345678901234567", 17, 0};
  uint8_t *low = calloc(3, tail + 8), *high = low + tail + 8, *result = high + tail + 8;
  assert_non_null(low);
  short_number room;
  big_of(UINT64_C(100000000000000000), &room);
  memcpy(high, room.bytes, 8);
  tr_big big_low = {{low, tail + 8}, tail + 8}, big_high = {{high, 8}, tail + 8};
  assert_int_equal(tr_big_interpolate(big_low, big_high, &fraction, result, NULL), TR_OK);
  assert_true(number_of(result) == UINT64_C(12345678901234567));
  for (size_t i = 8; i < tail + 8; i++) assert_int_equal(result[i], 0);
  assert_true(fabs(tr_big_ratio(big_low, big_high, (tr_big){{result, tail + 8}, tail + 8}) -
                   0.12345678901234567) < 1e-17);
  free(low);
}

static void test_units(void **state) {
  (void)state;
  static const size_t tails[] = {0, 1, 3, 4, 64, 239, 240, 241, 1000000};
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) check_units(tails[i]);
}

static tr_code interpolate_long(void *context) {
  (void)context;
  static const uint8_t low[300], high[300] = {1};
  static const tr_double_digits half = {"5", 1, 0};
  uint8_t result[300];
  return tr_big_interpolate((tr_big){{low, 300}, 300}, (tr_big){{high, 300}, 300}, &half, result,
                            NULL);
}

static void test_no_memory(void **state) {
  (void)state;
  assert_int_equal(test_memory_fail_each(interpolate_long, NULL), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_short_ratio),        cmocka_unit_test(test_short_interpolation),
      cmocka_unit_test(test_long_ratio),         cmocka_unit_test(test_ratio_is_cut_off),
      cmocka_unit_test(test_long_interpolation), cmocka_unit_test(test_units),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("big_fraction", tests, NULL, NULL);
}
