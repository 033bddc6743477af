/*
** Fails every allocation that SQLite or the extension makes, one after another.
**
** statements.sql holds blocks of SQL, each covering one surface. A block is run on a fresh
** connection with the k-th allocation failing, for k = 1, 2, ... until a run needs fewer than k.
** Then, for every seventh k, every allocation from the k-th on fails. Each run must end in
** SQLITE_NOMEM, or in success with the values of an undisturbed run (so a block's values must not
** be random). It must leave the connection usable and give back every byte when it is closed.
** Loading is a block of its own. The statements that prepare for a block (support/sql_blocks.h) are
** not disturbed.
**
** All blocks are swept again in a database of UTF-16, with every second k. There SQLite converts
** each text that the extension asks for, also that of values which are copies and belong to no
** connection. Blocks that such a database refuses, or answers at random because there is no key,
** are left out.
**
** Queries on several threads are tested apart, over a file, since only then there are other
** connections. These stay open for the next query, so after each failure the same query is run
** again.
**
** The allocations are SQLite's (SQLITE_CONFIG_MALLOC): the extension takes all its memory from
** there.
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

#include "database.h"
#include "effort.h"
#include "failing_allocator.h"
#include "sql_blocks.h"

/* --- A run ------------------------------------------------------------------------------- */

static sql_blocks blocks;

/* Of the databases in memory that the blocks are run in. */
static const char *encoding = "UTF-8";

static sqlite3 *open_encoded(void) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  char *sql = sqlite3_mprintf("PRAGMA encoding = '%s'", encoding);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_free(sql);
  return db;
}

static sqlite3 *open_plain(const char *path) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  return db;
}

/* What fails and how, for messages. */
typedef struct failure {
  const char *name;
  long at;
  int on;
} failure;

static const char *and_after(const failure *f) {
  return f->on ? " and all after it" : "";
}

static int is_no_memory(int rc) {
  return (rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM;
}

/* Closes, after which every byte must be back. */
static void close_after(sqlite3 *db, const failure *f, sqlite3_int64 before) {
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  if (sqlite3_memory_used() == before) return;
  fail_msg("%s: allocation %ld fails%s: %lld bytes are lost", f->name, f->at, and_after(f),
           (long long)(sqlite3_memory_used() - before));
}

/*
** One run of `b` with the `at`-th allocation failing. `b` NULL: the extension is loaded. Returns 1
** if an allocation did fail, so that the caller continues with the next. With `at` 0 none fails,
** and `*expected` is set. Otherwise a run that succeeds must give what it says.
*/
static int run_with_failure(const sql_block *b, long at, int on, uint64_t *expected) {
  sqlite3_int64 before = sqlite3_memory_used();
  const failure f = {b == NULL ? "load" : b->name, at, on};
  sqlite3 *db = open_encoded();
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
  failing_allocator_arm(at, on);
  int rc = b == NULL ? sql_blocks_load(db) : sql_blocks_run(db, b->sql, &answered);
  int failed = failing_allocator_has_failed();
  failing_allocator_arm(0, 0);
  if (!failed && rc != SQLITE_OK) fail_msg("%s: %s", f.name, sqlite3_errmsg(db));
  /*
  ** A failed load may be reported as SQLITE_ERROR, since the loader itself needs memory to say
  ** more.
  */
  if (rc != SQLITE_OK && !is_no_memory(rc) && !(b == NULL && rc == SQLITE_ERROR)) {
    fail_msg("%s: allocation %ld fails%s: %d (%s) instead of SQLITE_NOMEM", f.name, at,
             and_after(&f), rc, sqlite3_errmsg(db));
  }
  if (at == 0) *expected = answered;
  if (rc == SQLITE_OK && b != NULL && answered != *expected) {
    fail_msg("%s: allocation %ld fails%s: success, with other values", f.name, at, and_after(&f));
  }
  /* The connection is as good as before. */
  if (b == NULL) assert_int_equal(sql_blocks_load(db), SQLITE_OK);
  if (sql_blocks_run(db,
                     "SELECT offset_range(0, 9), tranche_version(); SELECT * FROM sqlite_schema;",
                     &answered) != SQLITE_OK) {
    fail_msg("%s: allocation %ld: afterwards: %s", f.name, at, sqlite3_errmsg(db));
  }
  close_after(db, &f, before);
  return failed;
}

static void sweep(const sql_block *b, long every) {
  /* With less effort only every n-th allocation. */
  long stride = every * 100 / test_effort(100), runs = 0;
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
  sweep(NULL, 1);
}

static void every_statement(void **state) {
  (void)state;
  assert_true(blocks.count > 1);
  for (int i = 1; i < blocks.count; i++) sweep(&blocks.items[i], 1);
}

/*
** Whether a block is answered in a database of that encoding, and always alike. A sample is not, of
** rows that have no key there; but two samples of a few rows often are.
*/
static int is_for_encoding(const sql_block *b) {
  enum { TRIES = 30 };
  uint64_t first = 0, answer = 0;
  int is_answered = 1;
  for (int i = 0; i < TRIES && is_answered && answer == first; i++) {
    sqlite3 *db = open_encoded();
    assert_int_equal(sql_blocks_load(db), SQLITE_OK);
    assert_int_equal(sql_blocks_run(db, blocks.items[0].sql, &answer), SQLITE_OK);
    if (b->before != NULL) is_answered = sql_blocks_run(db, b->before, &answer) == SQLITE_OK;
    if (is_answered) is_answered = sql_blocks_run(db, b->sql, &answer) == SQLITE_OK;
    if (i == 0) first = answer;
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
  return is_answered && answer == first;
}

static void every_statement_in_utf16(void **state) {
  (void)state;
  int swept = 0;
  encoding = "UTF-16le";
  for (int i = 1; i < blocks.count; i++) {
    if (!is_for_encoding(&blocks.items[i])) continue;
    sweep(&blocks.items[i], 2);
    swept++;
  }
  encoding = "UTF-8";
  print_message("%d of %d blocks in UTF-16\n", swept, blocks.count - 1);
  assert_true(swept > blocks.count / 2);
}

/* --- Several threads --------------------------------------------------------------------- */

/* Groupings of the tables that queries_on_threads makes. Each reads its pieces in another way. */
static const struct {
  const char *name;
  const char *created;
} groupings[] = {
    {"on threads, ahead",
     "group_by_fields(numbered, by_field_names(g), count(*) AS n, workers(3))"},
    {"on threads, narrow and bounded",
     "group_by_fields(numbered, by_field_names(g), count(*) AS n, where(g < 9), workers(3))"},
    {"on threads, by a text",
     "group_by_fields(named, by_field_names(g), count(*) AS n, where(g < 9), workers(3))"},
};

static char threads_path[512];

/*
** Runs the query over a grouping, which three threads must answer. Returns whether an allocation
** failed.
*/
static int query_on_threads(sqlite3 *db, const failure *f, const char *when) {
  static const char last_run[] = "SELECT reason FROM tranche_last_run()";
  uint64_t answered, expected;
  int rc = sql_blocks_run(db, "SELECT count(*), sum(n) FROM temp.g", &answered);
  int failed = failing_allocator_has_failed();
  failing_allocator_arm(0, 0);
  if (rc != SQLITE_OK && !(failed && is_no_memory(rc))) {
    fail_msg("%s: allocation %ld fails%s: %s: %d (%s) instead of SQLITE_NOMEM", f->name, f->at,
             and_after(f), when, rc, sqlite3_errmsg(db));
  }
  if (rc != SQLITE_OK) return failed;
  assert_int_equal(sql_blocks_run(db, "SELECT 7, 1400", &expected), SQLITE_OK);
  const char *reason = database_text(db, last_run);
  if (answered != expected || *reason != '\0') {
    fail_msg("%s: allocation %ld fails%s: %s: success, with %s", f->name, f->at, and_after(f), when,
             answered != expected ? "other values" : reason);
  }
  return failed;
}

/* One run, then another over the same connections. 1: an allocation did fail. */
static int run_on_threads(const char *created, const failure *f) {
  sqlite3_int64 before = sqlite3_memory_used();
  sqlite3 *db = open_plain(threads_path);
  uint64_t none;
  assert_int_equal(sql_blocks_load(db), SQLITE_OK);
  char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.g USING %s", created);
  assert_int_equal(sql_blocks_run(db, sql, &none), SQLITE_OK);
  sqlite3_free(sql);
  failing_allocator_arm(f->at, f->on);
  int failed = query_on_threads(db, f, "at once");
  query_on_threads(db, f, "afterwards");
  close_after(db, f, before);
  return failed;
}

/* All allocations take two minutes. */
enum { EVERY = 7 };

static void queries_on_threads(void **state) {
  (void)state;
  long stride = 100 * EVERY / test_effort(100);
  if (stride < 1) stride = 1;
  uint64_t none;
  sqlite3 *db = open_plain(database_path("out_of_memory", threads_path));
  assert_int_equal(sql_blocks_load(db), SQLITE_OK);
  assert_int_equal(
      sql_blocks_run(db,
                     "PRAGMA synchronous = off;"
                     "CREATE TABLE numbered(id INTEGER PRIMARY KEY, g);"
                     "CREATE TABLE named(id TEXT PRIMARY KEY, g) WITHOUT ROWID;"
                     "INSERT INTO numbered SELECT value, value % 7 FROM counting_input(1400);"
                     "INSERT INTO named SELECT 'k' || id, g FROM numbered;",
                     &none),
      SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  for (size_t i = 0; i < sizeof groupings / sizeof *groupings; i++) {
    long runs = 0;
    failure f = {.name = groupings[i].name};
    run_on_threads(groupings[i].created, &f);
    for (f.on = 0; f.on <= 1; f.on++) {
      f.at = 1;
      for (; run_on_threads(groupings[i].created, &f); f.at += f.on ? 7 * stride : stride) runs++;
    }
    print_message("%s: %ld failing allocations\n", f.name, runs);
  }
  database_remove(threads_path);
}

int main(void) {
  failing_allocator_install();
  sql_blocks_read(&blocks, "tests/faults/statements.sql");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loading),
      cmocka_unit_test(every_statement),
      cmocka_unit_test(every_statement_in_utf16),
      cmocka_unit_test(queries_on_threads),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  sql_blocks_free(&blocks);
  return failed;
}
