/*
** Whether long double has the 64 bits of precision with which SQLite compares integers and REALs.
** Under valgrind it has 53, and SQLite itself is inexact for integers beyond 2^53. A test that
** compares with SQLite must then stay below that.
*/
#ifndef TR_TEST_WIDE_REALS_H
#define TR_TEST_WIDE_REALS_H

#include <stdint.h>
#include <stdlib.h>

static inline int reals_are_wide(void) {
  volatile long double wide = 0x1p53L;
  wide += 1;
  return wide - 0x1p53L == 1;
}

/* Whether SQLite compares this SQL literal exactly. */
static inline int is_comparable(const char *literal) {
  return reals_are_wide() || strtoll(literal, NULL, 10) <= INT64_C(1) << 53;
}

#endif
