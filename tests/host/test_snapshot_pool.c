/*
** host/snapshot_pool.h: a pool for which memory failed once, at any point, is as good as new afterwards.
**
** The file is in WAL mode, where a snapshot is proved by what the spare connection sees and by nothing else.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SQLITE_CORE 1 /* linked in, like the extension under test */
#include "host/snapshot_pool.h"

#include "database.h"

static sqlite3_mem_methods real;
static int countdown = -1; /* the allocation that fails when this comes to 0; below: none */

static void *failing_malloc(int size) {
  return countdown-- == 0 ? NULL : real.xMalloc(size);
}

static void *failing_realloc(void *memory, int size) {
  return countdown-- == 0 ? NULL : real.xRealloc(memory, size);
}

static void install(void) {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK) abort();
  sqlite3_mem_methods failing = real;
  failing.xMalloc = failing_malloc;
  failing.xRealloc = failing_realloc;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK) abort();
  if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) abort();
}

/* Notes and begins with the n-th allocation failing: 1 if there were as many. */
static int use_with_failure(tr_snapshot_pool *pool, int n) {
  tr_error err;
  const char *reason;
  countdown = n;
  tr_snapshot_pool_note(pool, "main");
  if (tr_snapshot_pool_begin(pool, "main", 2, &reason, &err) == 1) tr_snapshot_pool_end(pool);
  int has_failed = countdown < 0;
  countdown = -1;
  return has_failed;
}

static void a_pool_survives_want_of_memory(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = database_open(database_path("snapshot_pool", path), 1000);
  database_must(db, "PRAGMA journal_mode = wal; CREATE TABLE t(x)");
  int n = 0, goes_on = 1;
  for (; goes_on; n++) {
    tr_error err = {0};
    const char *reason = "";
    tr_snapshot_pool *pool = tr_snapshot_pool_create(db);
    assert_non_null(pool);
    goes_on = use_with_failure(pool, n);
    int has_begun = tr_snapshot_pool_begin(pool, "main", 2, &reason, &err);
    if (has_begun != 1) fail_msg("after allocation %d failed: %s%s", n, reason, err.message);
    tr_snapshot_pool_end(pool);
    tr_snapshot_pool_free(pool);
  }
  print_message("%d failing allocations\n", n - 1);
  assert_true(n > 100);
  sqlite3_close(db);
  database_remove(path);
}

int main(void) {
  install();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pool_survives_want_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
