/*
** The extension linked into a program with SQLite: registered once for every connection through
** sqlite3_auto_extension, or for one connection alone.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tranche.h"

static sqlite3 *open_memory(void) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  return db;
}

static int64_t count_of(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) return -1;
  int64_t count = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
  sqlite3_finalize(stmt);
  return count;
}

static void one_connection_can_have_it_alone(void **state) {
  (void)state;
  sqlite3 *with = open_memory(), *without = open_memory();
  char *message = NULL;
  assert_int_equal(sqlite3_tranche_init(with, &message, NULL), SQLITE_OK);
  assert_null(message);
  assert_int_equal(count_of(with, "SELECT range_fraction(offset_range(0, 8), 4) * 14"), 7);
  assert_int_equal(count_of(without, "SELECT range_fraction(offset_range(0, 8), 4) * 14"), -1);
  assert_int_equal(sqlite3_close(with), SQLITE_OK);
  assert_int_equal(sqlite3_close(without), SQLITE_OK);
}

static void every_later_connection_has_it(void **state) {
  (void)state;
  void (*entry)(void) = (void (*)(void))sqlite3_tranche_init;
  assert_int_equal(sqlite3_auto_extension(entry), SQLITE_OK);
  for (int i = 0; i < 2; i++) {
    sqlite3 *db = open_memory();
    assert_int_equal(count_of(db, "SELECT range_fraction(offset_range(0, 8), 4) * 14"), 7);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
  assert_int_equal(sqlite3_cancel_auto_extension(entry), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_connection_can_have_it_alone),
      cmocka_unit_test(every_later_connection_has_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
