/*
** host/snapshot_pool.h: after memory failed once, at any point, a pool works as well as a new one;
** and what a child process finds of its parent's pool.
**
** The file that memory fails for is in WAL mode. There only the spare connection can prove a
** snapshot.
*/
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SQLITE_CORE 1 /* linked in, like the extension under test */
#include "host/snapshot_pool.h"

#include "database.h"
#include "failing_allocator.h"

/* Notes and begins with the n-th allocation failing: 1 if there were as many. */
static int use_with_failure(tr_snapshot_pool *pool, int n) {
  tr_error err;
  const char *reason;
  failing_allocator_arm(n, 0);
  tr_snapshot_pool_note(pool, "main");
  if (tr_snapshot_pool_begin(pool, "main", 2, &reason, &err) == 1) tr_snapshot_pool_end(pool);
  int has_failed = failing_allocator_has_failed();
  failing_allocator_arm(0, 0);
  return has_failed;
}

static void a_pool_survives_want_of_memory(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = database_open(database_path("snapshot_pool", path), 1000);
  database_must(db, "PRAGMA journal_mode = wal; CREATE TABLE t(x)");
  int n = 1, goes_on = 1;
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
  print_message("%d failing allocations\n", n - 2);
  assert_true(n > 101);
  sqlite3_close(db);
  database_remove(path);
}

/*
** A child process has none of its parent's snapshots: it finds the file gone, and then ends
** nothing. Returns what went wrong, or 0.
*/
static int use_in_child(tr_snapshot_pool *pool, const char *path) {
  tr_error err;
  const char *reason;
  if (unlink(path) != 0) return 1;
  if (tr_snapshot_pool_begin(pool, "main", 2, &reason, &err) != 0) return 2;
  tr_snapshot_pool_end(pool);
  return 0;
}

static void a_child_process_has_no_snapshot_to_end(void **state) {
  (void)state;
  char path[512];
  int status = -1;
  tr_error err = {0};
  const char *reason = "";
  sqlite3 *db = database_open(database_path("snapshot_pool", path), 1000);
  database_must(db, "CREATE TABLE t(x)");
  tr_snapshot_pool *pool = tr_snapshot_pool_create(db);
  assert_non_null(pool);
  assert_int_equal(tr_snapshot_pool_begin(pool, "main", 2, &reason, &err), 1);
  pid_t child = fork();
  assert_true(child >= 0);
  /* By a signal, or memcheck would look for what the child leaves to its parent on purpose. */
  if (child == 0) {
    int problem = use_in_child(pool, path);
    if (problem == 0) raise(SIGKILL);
    _exit(problem);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGKILL);
  tr_snapshot_pool_end(pool);
  tr_snapshot_pool_free(pool);
  sqlite3_close(db);
  database_remove(path);
}

static void note_release(void *count) {
  ++*(int *)count;
}

/* What closes the pool may come while a snapshot is used. The connections go when it ends. */
static void closing_waits_for_the_end(void **state) {
  (void)state;
  char path[512];
  tr_error err = {0};
  const char *reason = "";
  int released = 0;
  sqlite3 *db = database_open(database_path("snapshot_pool", path), 1000);
  database_must(db, "CREATE TABLE t(x)");
  tr_snapshot_pool *pool = tr_snapshot_pool_create(db);
  for (int round = 1; round <= 2; round++) {
    assert_int_equal(tr_snapshot_pool_begin(pool, "main", 2, &reason, &err), 1);
    assert_null(tr_snapshot_pool_data(pool, 0));
    tr_snapshot_pool_set_data(pool, 0, &released, note_release);
    tr_snapshot_pool_close(pool);
    assert_int_equal(database_integer(tr_snapshot_pool_connection(pool, 1), "SELECT 5"), 5);
    assert_int_equal(released, round - 1);
    tr_snapshot_pool_end(pool);
    assert_int_equal(released, round);
  }
  tr_snapshot_pool_free(pool);
  sqlite3_close(db);
  database_remove(path);
}

int main(void) {
  failing_allocator_install();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pool_survives_want_of_memory),
      cmocka_unit_test(a_child_process_has_no_snapshot_to_end),
      cmocka_unit_test(closing_waits_for_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
