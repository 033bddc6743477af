/*
** base/memory.h for the unit tests of src/.
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
