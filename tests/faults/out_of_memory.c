/*
** Fails every allocation that SQLite or the extension makes, one after another.
**
** statements.sql holds blocks of SQL, each covering one surface. A block is run on a fresh connection
** with the k-th allocation failing, for k = 1, 2, ... until a run needs fewer than k; then, for every
** seventh k, with every allocation from the k-th on failing. Each run must end in SQLITE_NOMEM or in
** success with the values of an unharmed run (so a block's values must not be random), leave the
** connection usable, and give back every byte when it is closed. Loading is a block of its own. What
** stands before a line `-- from here on` in a block prepares for it and is not harmed.
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

/* --- The blocks of statements.sql --------------------------------------------------------------- */

typedef struct block {
  char name[64];
  char *before; /* or NULL */
  char *sql;
} block;

static block blocks[128]; /* the first is the set-up */
static int block_count;

/* A line `--- name` opens a block. */
static void read_blocks(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    fprintf(stderr, "cannot read %s (run from the root)\n", path);
    exit(1);
  }
  char line[1024];
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "--- %63[^\n]", blocks[block_count].name) == 1) {
      blocks[block_count++].sql = calloc(1, 1);
    } else if (block_count > 0) {
      block *b = &blocks[block_count - 1];
      size_t old = strlen(b->sql), more = strlen(line);
      b->sql = realloc(b->sql, old + more + 1);
      memcpy(b->sql + old, line, more + 1);
    }
  }
  fclose(file);
  static const char mark[] = "-- from here on\n";
  for (block *b = blocks; b < blocks + block_count; b++) {
    char *at = strstr(b->sql, mark);
    if (at == NULL) continue;
    b->before = b->sql;
    b->sql = strdup(at);
    *at = '\0';
  }
}

/* --- A run --------------------------------------------------------------------------------------- */

static int load(sqlite3 *db) {
  const char *path = getenv("TRANCHE");
  char *message = NULL;
  int rc = sqlite3_load_extension(db, path ? path : "./tranche", NULL, &message);
  sqlite3_free(message);
  return rc;
}

/*
** A hash over all values that a run gave, so that two runs can be compared. It is the sum over rows:
** without the memory for an estimate SQLite may choose another plan, and so another order.
*/
static uint64_t answers;
static uint64_t row_hash;

static void begin_row(void) {
  row_hash = UINT64_C(14695981039346656037);
}

static void answer(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    row_hash = (row_hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
  }
}

/* SQLITE_NOMEM if SQLite could not give the value. */
static int read_value(sqlite3_stmt *stmt, int column) {
  int type = sqlite3_column_type(stmt, column), size = 0;
  int64_t integer = 0;
  double real_number = 0;
  const void *bytes = NULL;
  answer(&type, sizeof type);
  switch (type) {
  case SQLITE_INTEGER:
    integer = sqlite3_column_int64(stmt, column);
    answer(&integer, sizeof integer);
    return SQLITE_OK;
  case SQLITE_FLOAT:
    real_number = sqlite3_column_double(stmt, column);
    answer(&real_number, sizeof real_number);
    return SQLITE_OK;
  case SQLITE_TEXT: bytes = sqlite3_column_text(stmt, column); break;
  case SQLITE_BLOB: bytes = sqlite3_column_blob(stmt, column); break;
  default: return SQLITE_OK;
  }
  size = sqlite3_column_bytes(stmt, column);
  if (bytes == NULL && (type == SQLITE_TEXT || size > 0)) return SQLITE_NOMEM;
  answer(bytes, (size_t)size);
  return SQLITE_OK;
}

/* Steps through every row of every statement and reads each value. */
static int run(sqlite3 *db, const char *sql) {
  int rc = SQLITE_OK;
  answers = 0;
  while (rc == SQLITE_OK && *sql != '\0') {
    sqlite3_stmt *stmt = NULL;
    rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
    if (rc != SQLITE_OK || stmt == NULL) continue;
    int read = SQLITE_OK;
    while (read == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
      int count = sqlite3_column_count(stmt);
      begin_row();
      for (int i = 0; i < count && read == SQLITE_OK; i++) read = read_value(stmt, i);
      answers += row_hash;
    }
    int finalized = sqlite3_finalize(stmt);
    rc = read != SQLITE_OK ? read : rc == SQLITE_DONE ? SQLITE_OK : finalized;
  }
  return rc;
}

static sqlite3 *open_plain(void) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
  return db;
}

/*
** One run of `b` with the `at`-th allocation failing; `b` NULL: loading is what fails. Returns 1 if
** any allocation did fail, so that the caller goes on with the next. `at` 0: none fails, and
** `*expected` is set; otherwise success must give what it says.
*/
static int run_with_failure(const block *b, long at, int on, uint64_t *expected) {
  sqlite3_int64 before = sqlite3_memory_used();
  sqlite3 *db = open_plain();
  if (b != NULL) {
    assert_int_equal(load(db), SQLITE_OK);
    if (run(db, blocks[0].sql) != SQLITE_OK) fail_msg("set-up: %s", sqlite3_errmsg(db));
    if (b->before != NULL && run(db, b->before) != SQLITE_OK) {
      fail_msg("%s, before: %s", b->name, sqlite3_errmsg(db));
    }
  }
  arm(at, on);
  int rc = b == NULL ? load(db) : run(db, b->sql);
  int failed = atomic_load(&has_failed);
  uint64_t answered = answers;
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
  if (b == NULL) assert_int_equal(load(db), SQLITE_OK);
  if (run(db, "SELECT offset_range(0, 9), tranche_version(); SELECT * FROM sqlite_schema;") !=
      SQLITE_OK) {
    fail_msg("%s: allocation %ld: afterwards: %s", name, at, sqlite3_errmsg(db));
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  if (sqlite3_memory_used() != before) {
    fail_msg("%s: allocation %ld fails%s: %lld bytes are lost", name, at,
             on ? " and all after it" : "", (long long)(sqlite3_memory_used() - before));
  }
  return failed;
}

static void sweep(const block *b) {
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
  assert_true(block_count > 1);
  for (int i = 1; i < block_count; i++) sweep(&blocks[i]);
}

int main(void) {
  install();
  read_blocks("tests/faults/statements.sql");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loading),
      cmocka_unit_test(every_statement),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int i = 0; i < block_count; i++) {
    free(blocks[i].before);
    free(blocks[i].sql);
  }
  return failed;
}
