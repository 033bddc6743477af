/*
** Whether long double has the 64 bits of precision by which SQLite compares integers with REALs.
** Under valgrind it has 53, and SQLite itself is inexact for integers beyond 2^53: a test that
** takes SQLite's word keeps below.
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
