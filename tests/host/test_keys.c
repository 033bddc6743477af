/*
** Keys and restrictions, as far as only a program can test them: a long split can be stopped.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tranche.h"

static int stop_at_once(void *context) {
  ++*(int *)context;
  return 1;
}

/*
** SQLite itself calls the handler every thousand steps of its virtual machine, but there are only a
** few here. So it is range_split that calls it, before 100,000 pieces of 100,000 bytes fill the
** memory.
*/
static void a_progress_handler_stops_a_split(void **state) {
  (void)state;
  sqlite3 *db;
  sqlite3_stmt *stmt;
  int calls = 0;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(
          db, "SELECT count(*) FROM range_split(byte_key_range(zeroblob(100000), ''), 100000)", -1,
          &stmt, NULL),
      SQLITE_OK);
  sqlite3_progress_handler(db, 1000, stop_at_once, &calls);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  assert_int_equal(calls, 1);
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_progress_handler_stops_a_split)};
  return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
