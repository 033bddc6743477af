/*
** The extension in somebody else's C program: allowed, loaded from its file, used, and refused with
** SQLite's own words where loading is not allowed.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const char *extension(void) {
  const char *path = getenv("TRANCHE");
  return path != NULL ? path : "./tranche";
}

static sqlite3 *open_memory(void) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  return db;
}

static void load(sqlite3 *db) {
  char *message = NULL;
  assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL),
                   SQLITE_OK);
  int rc = sqlite3_load_extension(db, extension(), NULL, &message);
  if (rc != SQLITE_OK) fail_msg("%s", message);
}

static void assert_text(sqlite3 *db, const char *sql, const char *expected) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  assert_string_equal((const char *)sqlite3_column_text(stmt, 0), expected);
  sqlite3_finalize(stmt);
}

static void every_surface_is_there_after_loading(void **state) {
  (void)state;
  sqlite3 *db = open_memory();
  load(db);
  assert_text(db, "SELECT hex(byte_key(1)) = hex(byte_key(1.0))", "1");
  assert_text(db, "SELECT offset_range(0, 3)", "{\"from\":0,\"to\":3}");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void loading_twice_is_fine(void **state) {
  (void)state;
  sqlite3 *db = open_memory();
  load(db);
  load(db);
  assert_text(db, "SELECT range_contains(offset_range(0, 3), 2)", "1");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The C call may be allowed by the way SQLite was compiled; the SQL function never is by itself. */
static void loading_from_sql_must_be_allowed_first(void **state) {
  (void)state;
  sqlite3 *db = open_memory();
  char *message = NULL;
  char *sql = sqlite3_mprintf("SELECT load_extension(%Q)", extension());
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_ERROR);
  assert_string_equal(message, "not authorized");
  sqlite3_free(message);
  assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_load_extension(db, extension(), NULL, &message), SQLITE_ERROR);
  assert_string_equal(message, "not authorized");
  sqlite3_free(message);
  sqlite3_free(sql);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_closed_connection_leaves_nothing_behind(void **state) {
  (void)state;
  sqlite3_int64 before = sqlite3_memory_used();
  for (int i = 0; i < 3; i++) {
    sqlite3 *db = open_memory();
    load(db);
    assert_text(db, "SELECT tracker_open('kept', offset_range(0, 3))", "{\"from\":0,\"to\":3}");
    assert_text(db, "SELECT tracker_try_claim('kept', 1)", "1");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    /* What SQLite itself keeps for the process is there after the first time. */
    if (i == 0) before = sqlite3_memory_used();
  }
  assert_int_equal(sqlite3_memory_used(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_surface_is_there_after_loading),
      cmocka_unit_test(loading_twice_is_fine),
      cmocka_unit_test(loading_from_sql_must_be_allowed_first),
      cmocka_unit_test(a_closed_connection_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
