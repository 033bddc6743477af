/*
** Implements base/memory.h for the unit tests of src/.
*/
#include "test_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"

static atomic_long countdown, live;
static atomic_int failed;

void test_memory_fail_at(long n) {
  failed = 0;
  countdown = n;
}

int test_memory_has_failed(void) {
  return failed;
}

long test_memory_live(void) {
  return live;
}

long test_memory_fail_each(tr_code (*run)(void *context), void *context) {
  for (long n = 1;; n++) {
    long before = live;
    test_memory_fail_at(n);
    tr_code code = run(context);
    int has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    if (live != before || code != (has_failed ? TR_NO_MEMORY : TR_OK)) return -1;
    if (!has_failed) return n - 1;
  }
}

static int fails_now(void) {
  if (countdown == 0 || --countdown != 0) return 0;
  failed = 1;
  return 1;
}

void *tr_malloc(size_t size) {
  return tr_realloc(NULL, size);
}

void *tr_realloc(void *memory, size_t size) {
  if (fails_now()) return NULL;
  void *moved = realloc(memory, size);
  if (memory == NULL && moved != NULL) live++;
  return moved;
}

void tr_free(void *memory) {
  if (memory == NULL) return;
  live--;
  free(memory);
}
