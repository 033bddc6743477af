/*
** The amount of work of a long test. test_effort(1000000) is 1,000,000 cases in `make test`, and a
** few percent of that under a sanitizer or valgrind, where TEST_EFFORT=percent is set. It is at
** least 1.
*/
#ifndef TR_TEST_EFFORT_H
#define TR_TEST_EFFORT_H

#include <stdlib.h>

static inline long test_effort(long full) {
  const char *text = getenv("TEST_EFFORT");
  double percent = text == NULL ? 100 : strtod(text, NULL);
  long part = (long)((double)full * percent / 100);
  return part < 1 ? 1 : part;
}

#endif
