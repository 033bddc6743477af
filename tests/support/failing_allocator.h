/*
** SQLite's allocator, for programs that have it fail on request. Install it before anything else of
** SQLite is called.
**
** Thread-safety: any thread may allocate; one arms.
*/
#ifndef FAILING_ALLOCATOR_H
#define FAILING_ALLOCATOR_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct {
  sqlite3_mem_methods real;
  atomic_long fail_at;   /* 0: never; else the number of the allocation that fails */
  atomic_int fails_on;   /* 1: so do all after it */
  atomic_long allocated; /* since it was armed */
  atomic_int has_failed;
} failing_allocator;

static inline int failing_allocator_is_to_fail(void) {
  long number = atomic_fetch_add(&failing_allocator.allocated, 1) + 1;
  long at = atomic_load(&failing_allocator.fail_at);
  if (at == 0 || (atomic_load(&failing_allocator.fails_on) ? number < at : number != at)) return 0;
  atomic_store(&failing_allocator.has_failed, 1);
  return 1;
}

static inline void *failing_allocator_malloc(int size) {
  return failing_allocator_is_to_fail() ? NULL : failing_allocator.real.xMalloc(size);
}

static inline void *failing_allocator_realloc(void *memory, int size) {
  return failing_allocator_is_to_fail() ? NULL : failing_allocator.real.xRealloc(memory, size);
}

/* From now on allocation number `at` fails, and if `on` all after it; 0: none does. */
static inline void failing_allocator_arm(long at, int on) {
  atomic_store(&failing_allocator.allocated, 0);
  atomic_store(&failing_allocator.has_failed, 0);
  atomic_store(&failing_allocator.fails_on, on);
  atomic_store(&failing_allocator.fail_at, at);
}

/* Whether one has failed since then. */
static inline int failing_allocator_has_failed(void) {
  return atomic_load(&failing_allocator.has_failed);
}

static inline void failing_allocator_install(void) {
  sqlite3_mem_methods *real = &failing_allocator.real;
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, real) != SQLITE_OK) abort();
  sqlite3_mem_methods failing = *real;
  failing.xMalloc = failing_allocator_malloc;
  failing.xRealloc = failing_allocator_realloc;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK) abort();
  /* Lookaside memory would answer small requests without asking us. */
  if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) abort();
}

#endif
