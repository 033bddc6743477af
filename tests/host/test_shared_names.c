/*
** Two connections use one shared name at the same time. At each allocation of a scan that opens a
** tracker, another connection opens the same name: also between not finding it and opening it.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "database.h"

static struct {
  sqlite3_mem_methods real;
  sqlite3_stmt *open; /* the statement that the other connection runs */
  long left;          /* allocations until then; 0: never */
  int has_opened;
} between;

static void count_allocation(void) {
  if (between.left == 0 || --between.left > 0) return;
  between.has_opened = sqlite3_step(between.open) == SQLITE_ROW;
  sqlite3_reset(between.open);
}

static void *counted_malloc(int size) {
  count_allocation();
  return between.real.xMalloc(size);
}

static void *counted_realloc(void *memory, int size) {
  count_allocation();
  return between.real.xRealloc(memory, size);
}

/* SQLite then allocates without a mutex, so that an allocation may run a statement. */
static void install(void) {
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &between.real), SQLITE_OK);
  sqlite3_mem_methods counted = between.real;
  counted.xMalloc = counted_malloc;
  counted.xRealloc = counted_realloc;
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &counted), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  return stmt;
}

/*
** Whoever opens the name first, the scan reads all. The other connection opens it before the scan
** does at the first allocations, and cannot at the last ones.
*/
static void check_scan(const char *scanning, const char *opening) {
  sqlite3 *db = database_open(":memory:", 0), *other = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);"
                    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  sqlite3_stmt *scan = prepare(db, scanning);
  between.open = prepare(other, opening);
  int opened = 0, refused = 0, is_over = 0;
  for (long n = 1; !is_over; n++) {
    between.has_opened = 0;
    between.left = n;
    int rc = sqlite3_step(scan);
    is_over = between.left > 0;
    between.left = 0;
    if (rc != SQLITE_ROW) fail_msg("allocation %ld: %s", n, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_column_int(scan, 0), 3);
    sqlite3_reset(scan);
    opened += between.has_opened;
    refused += !between.has_opened && !is_over;
    database_must(between.has_opened ? other : db, "SELECT tracker_close('shared:t')");
  }
  assert_true(opened > 1);
  assert_true(refused > 0);
  sqlite3_finalize(scan);
  sqlite3_finalize(between.open);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

static void a_table_is_read_whoever_opens_the_name(void **state) {
  (void)state;
  check_scan("SELECT count(*) FROM s WHERE tracker = 'shared:t'",
             "SELECT tracker_open('shared:t', byte_key_range('', ''))");
}

static void numbers_are_read_whoever_opens_the_name(void **state) {
  (void)state;
  check_scan("SELECT count(*) FROM counting_input(3) WHERE tracker = 'shared:t'",
             "SELECT tracker_open('shared:t', offset_range(0, 3))");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_is_read_whoever_opens_the_name),
      cmocka_unit_test(numbers_are_read_whoever_opens_the_name),
  };
  install();
  return cmocka_run_group_tests_name("shared names", tests, NULL, NULL);
}
