/*
** Fails every allocation that SQLite or the extension makes, one after another.
**
** statements.sql holds blocks of SQL, each covering one surface. A block is run on a fresh connection
** with the k-th allocation failing, for k = 1, 2, ... until a run needs fewer than k; then, for every
** seventh k, with every allocation from the k-th on failing. Each run must end in SQLITE_NOMEM or in
** success with the values of an unharmed run (so a block's values must not be random), leave the
** connection usable, and give back every byte when it is closed. Loading is a block of its own. What
** prepares for a block (support/sql_blocks.h) is not harmed.
**
** The allocations are SQLite's (SQLITE_CONFIG_MALLOC): the extension takes all its memory from there.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effort.h"
#include "sql_blocks.h"

/* --- An allocator that fails on request ------------------------------------------------------- */

static sqlite3_mem_methods real;
static atomic_long fail_at;   /* 0: never; else the number of the allocation that fails */
static atomic_int fails_on;   /* 1: so do all after it */
static atomic_long allocated; /* since the last arm() */
static atomic_int has_failed;

static int is_to_fail(void) {
  long number = atomic_fetch_add(&allocated, 1) + 1, at = atomic_load(&fail_at);
  if (at == 0 || (atomic_load(&fails_on) ? number < at : number != at)) return 0;
  atomic_store(&has_failed, 1);
  return 1;
}

static void *failing_malloc(int size) {
  return is_to_fail() ? NULL : real.xMalloc(size);
}

static void *failing_realloc(void *memory, int size) {
  return is_to_fail() ? NULL : real.xRealloc(memory, size);
}

static void arm(long at, int on) {
  atomic_store(&allocated, 0);
  atomic_store(&has_failed, 0);
  atomic_store(&fails_on, on);
  atomic_store(&fail_at, at);
}

static void install(void) {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK) abort();
  sqlite3_mem_methods failing = real;
  failing.xMalloc = failing_malloc;
  failing.xRealloc = failing_realloc;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK) abort();
  /* Lookaside memory would answer small requests without asking us. */
  if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) abort();
}

/* --- A run --------------------------------------------------------------------------------------- */

static sql_blocks blocks;

static sqlite3 *open_plain(void) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  return db;
}

/*
** One run of `b` with the `at`-th allocation failing; `b` NULL: loading is what fails. Returns 1 if
** any allocation did fail, so that the caller goes on with the next. `at` 0: none fails, and
** `*expected` is set; otherwise success must give what it says.
*/
static int run_with_failure(const sql_block *b, long at, int on, uint64_t *expected) {
  sqlite3_int64 before = sqlite3_memory_used();
  sqlite3 *db = open_plain();
  uint64_t answered;
  if (b != NULL) {
    assert_int_equal(sql_blocks_load(db), SQLITE_OK);
    if (sql_blocks_run(db, blocks.items[0].sql, &answered) != SQLITE_OK) {
      fail_msg("set-up: %s", sqlite3_errmsg(db));
    }
    if (b->before != NULL && sql_blocks_run(db, b->before, &answered) != SQLITE_OK) {
      fail_msg("%s, before: %s", b->name, sqlite3_errmsg(db));
    }
  }
  arm(at, on);
  int rc = b == NULL ? sql_blocks_load(db) : sql_blocks_run(db, b->sql, &answered);
  int failed = atomic_load(&has_failed);
  arm(0, 0);
  const char *name = b == NULL ? "load" : b->name;
  if (!failed && rc != SQLITE_OK) fail_msg("%s: %s", name, sqlite3_errmsg(db));
  /* A failed load may be reported as SQLITE_ERROR, since the loader itself needs memory to say more. */
  int is_no_memory = (rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM;
  if (rc != SQLITE_OK && !is_no_memory && !(b == NULL && rc == SQLITE_ERROR)) {
    fail_msg("%s: allocation %ld fails%s: %d (%s) instead of SQLITE_NOMEM", name, at,
             on ? " and all after it" : "", rc, sqlite3_errmsg(db));
  }
  if (at == 0) *expected = answered;
  if (rc == SQLITE_OK && b != NULL && answered != *expected) {
    fail_msg("%s: allocation %ld fails%s: success, with other values", name, at,
             on ? " and all after it" : "");
  }
  /* The connection is as good as before. */
  if (b == NULL) assert_int_equal(sql_blocks_load(db), SQLITE_OK);
  if (sql_blocks_run(db,
                     "SELECT offset_range(0, 9), tranche_version(); SELECT * FROM sqlite_schema;",
                     &answered) != SQLITE_OK) {
    fail_msg("%s: allocation %ld: afterwards: %s", name, at, sqlite3_errmsg(db));
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  if (sqlite3_memory_used() != before) {
    fail_msg("%s: allocation %ld fails%s: %lld bytes are lost", name, at,
             on ? " and all after it" : "", (long long)(sqlite3_memory_used() - before));
  }
  return failed;
}

static void sweep(const sql_block *b) {
  /* With less effort only every n-th allocation. */
  long stride = 100 / test_effort(100), runs = 0;
  uint64_t expected = 0;
  /* Once unharmed: for the right values, and what the process keeps is there afterwards. */
  run_with_failure(b, 0, 0, &expected);
  for (int on = 0; on <= 1; on++) {
    /* When all after it fail, too, most runs end at the next one: a seventh shows what there is. */
    for (long at = 1; run_with_failure(b, at, on, &expected); at += on ? 7 * stride : stride)
      runs++;
  }
  print_message("%s: %ld failing allocations\n", b == NULL ? "load" : b->name, runs);
  assert_true(runs > 0);
}

static void loading(void **state) {
  (void)state;
  sweep(NULL);
}

static void every_statement(void **state) {
  (void)state;
  assert_true(blocks.count > 1);
  for (int i = 1; i < blocks.count; i++) sweep(&blocks.items[i]);
}

int main(void) {
  install();
  sql_blocks_read(&blocks, "tests/faults/statements.sql");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loading),
      cmocka_unit_test(every_statement),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  sql_blocks_free(&blocks);
  return failed;
}
