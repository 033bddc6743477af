/*
** splitmix64, and random values. Numbers come from a table of awkward ones, from random bits, and
** from usual data (small integers, prices). Some are then moved by a step or two.
*/
#include "test_random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

test_random test_random_begin(const char *name) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t seed = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
  const char *given = getenv("TRANCHE_SEED");
  if (given != NULL) seed = strtoull(given, NULL, 10);
  printf("%s: TRANCHE_SEED=%llu\n", name, (unsigned long long)seed);
  fflush(stdout); /* so that a crash does not lose it */
  return (test_random){seed};
}

uint64_t test_random_next(test_random *random) {
  uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

uint64_t test_random_below(test_random *random, uint64_t limit) {
  return test_random_next(random) % limit;
}

tr_bytes test_random_bytes(test_random *random, uint8_t *room, size_t limit) {
  static const uint8_t kinds[] = {0x00, 0x00, 0x01, 'a', 'a', 'b', 0x7f, 0x80, 0xfe, 0xff};
  size_t size = test_random_below(random, limit + 1);
  for (size_t i = 0; i < size; i++) room[i] = kinds[test_random_below(random, sizeof kinds)];
  return (tr_bytes){room, size};
}

static int64_t random_integer(test_random *random) {
  static const int64_t awkward[] = {0,
                                    1,
                                    -1,
                                    127,
                                    128,
                                    255,
                                    256,
                                    INT64_C(1) << 52,
                                    INT64_C(1) << 53,
                                    -(INT64_C(1) << 53),
                                    INT64_C(1) << 62,
                                    -(INT64_C(1) << 62),
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MAX - 1023,
                                    INT64_MIN + 1024};
  size_t count = sizeof awkward / sizeof *awkward;
  uint64_t bits = test_random_next(random);
  switch (test_random_below(random, 4)) {
  case 0: return (int64_t)((uint64_t)awkward[bits % count] + bits / count % 5 - 2);
  case 1: return (int64_t)(bits % 2000) - 1000;
  case 2: return (int64_t)(bits >> test_random_below(random, 64));
  default: return (int64_t)bits;
  }
}

static double random_real(test_random *random) {
  static const double awkward[] = {0.0,     -0.0,    0.5,       1.0,      0x1p-7,
                                   0x1p52,  0x1p53,  0x1p62,    0x1p63,   0x1.fffffffffffffp62,
                                   DBL_MIN, DBL_MAX, 0x1p-1074, HUGE_VAL, 0x1p-60,
                                   0.1};
  size_t count = sizeof awkward / sizeof *awkward;
  uint64_t bits = test_random_next(random);
  double x;
  switch (test_random_below(random, 5)) {
  case 0:
    x = awkward[bits % count];
    if (bits >> 60 & 1) x = -x;
    if (bits >> 61 & 1) x = nextafter(x, bits >> 62 & 1 ? HUGE_VAL : -HUGE_VAL);
    return x;
  case 1: return (double)((int64_t)(bits % 200000) - 100000) / 100;
  case 2: return (double)random_integer(random);
  case 3: return ldexp((double)(int64_t)bits, -(int)test_random_below(random, 80));
  default: memcpy(&x, &bits, sizeof x); return isnan(x) ? 0.25 : x;
  }
}

static tr_value random_value(test_random *random, uint8_t *room) {
  switch (test_random_below(random, 9)) {
  case 0: return tr_value_null();
  case 1:
  case 2:
  case 3: return tr_value_integer(random_integer(random));
  case 4:
  case 5:
  case 6: return tr_value_real(random_real(random));
  case 7: return tr_value_text(test_random_bytes(random, room, 5));
  default: return tr_value_blob(test_random_bytes(random, room, 5));
  }
}

void test_random_tuple(test_random *random, size_t count, test_tuple *tuple) {
  tuple->count = count;
  for (size_t i = 0; i < count; i++) tuple->values[i] = random_value(random, tuple->bytes[i]);
}

/* Changes a value to a neighbour, to the same value of another type, or by one byte at its end. */
static tr_value nudge(test_random *random, tr_value value, uint8_t *room) {
  uint64_t choice = test_random_below(random, 3);
  switch (value.type) {
  case TR_NULL: return value;
  case TR_INTEGER:
    if (choice == 0) return tr_value_real((double)value.integer);
    if (choice == 1 && value.integer < INT64_MAX) return tr_value_integer(value.integer + 1);
    if (choice == 2 && value.integer > INT64_MIN) return tr_value_integer(value.integer - 1);
    return value;
  case TR_REAL:
    if (choice == 0 && fabs(value.real) < 0x1p62) return tr_value_integer((int64_t)value.real);
    return tr_value_real(nextafter(value.real, choice == 1 ? HUGE_VAL : -HUGE_VAL));
  case TR_TEXT:
  case TR_BLOB:
    if (choice == 0) value.type = value.type == TR_TEXT ? TR_BLOB : TR_TEXT;
    if (choice == 1) room[value.bytes.size++] = (uint8_t)test_random_below(random, 256);
    if (choice == 2 && value.bytes.size > 0) value.bytes.size--;
    return value;
  }
  return value;
}

void test_random_similar(test_random *random, const test_tuple *other, test_tuple *tuple) {
  memcpy(tuple->bytes, other->bytes, sizeof tuple->bytes);
  tuple->count = other->count;
  for (size_t i = 0; i < other->count; i++) {
    tr_value value = other->values[i];
    if (value.type >= TR_TEXT) value.bytes.data = tuple->bytes[i];
    tuple->values[i] = value;
  }
  size_t changed = test_random_below(random, TEST_TUPLE_MAX + 1);
  if (changed < tuple->count) {
    tuple->values[changed] = nudge(random, tuple->values[changed], tuple->bytes[changed]);
  }
}
