/*
** Interrupts everything that the surfaces do, at every point where that is possible.
**
** The blocks of statements.sql are run with one interrupt each: either by sqlite3_interrupt at the
** k-th allocation, which can be anywhere in SQLite or in the extension, like a call from another
** thread; or by a progress handler that says stop at its k-th call. This is done for every 13th k
** (TEST_EFFORT=1300: for every k) until a run ends before that.
**
** A statement must then end in SQLITE_INTERRUPT or in success, and in nothing else. An interrupted
** statement is run again (from its BEGIN, if the transaction was rolled back). In the end all
** answers and the schema must be those of an undisturbed run: so nothing was left half done. The
** same is done with workers on other threads, where any of the threads may be hit.
**
** The database is a file, since only then there are other connections to interrupt.
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
#include <unistd.h>

#include "effort.h"
#include "sql_blocks.h"

/* --- Two ways of interrupting ------------------------------------------------------------ */

typedef enum way { BY_CALL, BY_PROGRESS_HANDLER } way;
static const char *const way_names[] = {"allocation", "step"};

static sqlite3_mem_methods real;
static _Atomic(sqlite3 *) target; /* the connection to interrupt, or NULL */
static atomic_long stop_at;       /* the number of the allocation or step; 0: never */
static atomic_long seen;          /* allocations or steps since arm() */
static atomic_int is_stopped;     /* it has happened */

static int is_to_stop(void) {
  if (atomic_fetch_add(&seen, 1) + 1 != atomic_load(&stop_at)) return 0;
  atomic_store(&is_stopped, 1);
  return 1;
}

static void interrupt_if_due(void) {
  sqlite3 *db = atomic_load(&target);
  if (db != NULL && is_to_stop()) sqlite3_interrupt(db);
}

static void *interrupting_malloc(int size) {
  interrupt_if_due();
  return real.xMalloc(size);
}

static void *interrupting_realloc(void *memory, int size) {
  interrupt_if_due();
  return real.xRealloc(memory, size);
}

static int progress(void *none) {
  (void)none;
  return is_to_stop();
}

/*
** SQLite calls the progress handler once more when a statement is done and committed, and even then
** returns SQLITE_INTERRUPT.
*/
static int is_committed;

static int note_commit(void *none) {
  (void)none;
  is_committed = 1;
  return 0;
}

static void arm(sqlite3 *db, way how, long at) {
  atomic_store(&seen, 0);
  atomic_store(&is_stopped, 0);
  atomic_store(&stop_at, at);
  atomic_store(&target, how == BY_CALL ? db : NULL);
  if (how == BY_PROGRESS_HANDLER) sqlite3_progress_handler(db, 1, progress, NULL);
}

static void disarm(sqlite3 *db) {
  atomic_store(&target, NULL);
  sqlite3_progress_handler(db, 0, NULL, NULL);
}

static void install(void) {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK) abort();
  sqlite3_mem_methods interrupting = real;
  interrupting.xMalloc = interrupting_malloc;
  interrupting.xRealloc = interrupting_realloc;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &interrupting) != SQLITE_OK) abort();
  /* Lookaside memory would answer small requests without asking us. */
  if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) abort();
}

/* --- A run ------------------------------------------------------------------------------- */

static sql_blocks blocks;
static char path[600];

static void must(sqlite3 *db, const char *what, const char *sql, uint64_t *answers) {
  if (sql_blocks_run(db, sql, answers) != SQLITE_OK) fail_msg("%s: %s", what, sqlite3_errmsg(db));
}

static sqlite3 *open_new(void) {
  sqlite3 *db = NULL;
  uint64_t none;
  unlink(path);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  sqlite3_commit_hook(db, note_commit, NULL);
  must(db, "opening", "PRAGMA synchronous = off; PRAGMA journal_mode = memory", &none);
  assert_int_equal(sql_blocks_load(db), SQLITE_OK);
  return db;
}

/* Runs the statements of `b` with an interrupt. Returns a sum over what they answer. */
static uint64_t run_statements(sqlite3 *db, const sql_block *b, way how, long at) {
  const char *sql = b->sql, *transaction = sql;
  uint64_t answers = 0, answers_before = 0;
  arm(db, how, at);
  while (*sql != '\0') {
    if (sqlite3_get_autocommit(db)) {
      transaction = sql;
      answers_before = answers;
    }
    is_committed = 0;
    const char *rest = sql;
    int rc = sql_blocks_run_statement(db, sql, &rest, &answers);
    if (rc == SQLITE_OK) {
      sql = rest;
      continue;
    }
    if (rc != SQLITE_INTERRUPT || !atomic_load(&is_stopped)) {
      fail_msg("%s: interrupted at %s %ld: %d (%s) from %.*s", b->name, way_names[how], at, rc,
               sqlite3_errmsg(db), (int)(rest - sql), sql);
    }
    disarm(db);
    if (b->is_once) break;
    if (is_committed) {
      sql = rest;
      continue;
    }
    if (!sqlite3_get_autocommit(db)) must(db, "ROLLBACK", "ROLLBACK", &answers);
    sql = transaction;
    answers = answers_before;
  }
  disarm(db);
  return answers;
}

/*
** One run on a new database. Returns 1 if it was interrupted, so that the caller continues with the
** next point. With `at` 0 it is not interrupted, and its result is what the others are compared
** with.
*/
static int run_once(const sql_block *b, way how, long at, uint64_t expected[2]) {
  uint64_t found[2], none;
  sqlite3_int64 before = sqlite3_memory_used();
  sqlite3 *db = open_new();
  must(db, "set-up", blocks.items[0].sql, &none);
  if (b->before != NULL) must(db, b->name, b->before, &none);
  found[0] = run_statements(db, b, how, at);
  must(db, "the schema", "SELECT * FROM main.sqlite_master; SELECT * FROM temp.sqlite_master",
       &found[1]);
  int was_stopped = at > 0 && atomic_load(&is_stopped);
  if (at == 0) {
    memcpy(expected, found, sizeof found);
  } else if (!(b->is_once && was_stopped) && memcmp(found, expected, sizeof found) != 0) {
    fail_msg("%s: interrupted at %s %ld: another %s", b->name, way_names[how], at,
             found[0] != expected[0] ? "answer" : "schema");
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  if (sqlite3_memory_used() != before) {
    fail_msg("%s: interrupted at %s %ld: %lld bytes are lost", b->name, way_names[how], at,
             (long long)(sqlite3_memory_used() - before));
  }
  return was_stopped;
}

static void sweep(const sql_block *b, long stride) {
  uint64_t expected[2];
  run_once(b, BY_CALL, 0, expected); /* what the process keeps is there afterwards */
  run_once(b, BY_CALL, 0, expected);
  for (int how = BY_CALL; how <= BY_PROGRESS_HANDLER; how++) {
    long runs = 0;
    for (long at = 1; run_once(b, (way)how, at, expected); at += stride) runs++;
    print_message("%s: %ld interrupts by %s\n", b->name, runs, way_names[how]);
  }
}

/* All points take two minutes. */
enum { EVERY = 13 };

static void every_statement(void **state) {
  (void)state;
  assert_true(blocks.count > 1);
  long stride = 100 * EVERY / test_effort(100);
  for (int i = 1; i < blocks.count; i++) sweep(&blocks.items[i], stride < 1 ? 1 : stride);
}

/* Else the sweep over them would be one over one thread. */
static void the_block_on_threads_is(void **state) {
  (void)state;
  const sql_block *b = blocks.items;
  while (strcmp(b->name, "group by fields, on threads") != 0) b++;
  sqlite3 *db = open_new();
  uint64_t answers, expected;
  must(db, b->name, b->before, &answers);
  must(db, b->name, b->sql, &answers);
  must(db, "the last run", "SELECT workers, reason FROM tranche_last_run()", &answers);
  must(db, "as it should be", "SELECT 3, NULL", &expected);
  assert_true(answers == expected);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/interrupts.%d.db", folder == NULL ? "." : folder, (int)getpid());
  install();
  sql_blocks_read(&blocks, "tests/faults/statements.sql");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_block_on_threads_is),
      cmocka_unit_test(every_statement),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  sql_blocks_free(&blocks);
  unlink(path);
  return failed;
}
