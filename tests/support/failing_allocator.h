/*
** SQLite's allocator, with failures on request. Install it before any other call of SQLite.
**
** Thread-safety: any thread may allocate. Only one may arm it.
*/
#ifndef FAILING_ALLOCATOR_H
#define FAILING_ALLOCATOR_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct {
  sqlite3_mem_methods real;
  atomic_long fail_at;   /* the number of the allocation that fails; 0: none */
  atomic_int fails_on;   /* 1: all allocations after that one fail too */
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

/* Allocation number `at` from now fails; if `on`, all after it too. 0: none fails. */
static inline void failing_allocator_arm(long at, int on) {
  atomic_store(&failing_allocator.allocated, 0);
  atomic_store(&failing_allocator.has_failed, 0);
  atomic_store(&failing_allocator.fails_on, on);
  atomic_store(&failing_allocator.fail_at, at);
}

/* Whether one has failed since it was armed. */
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
  /* Lookaside memory would serve small requests without this allocator. */
  if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) abort();
}

#endif
