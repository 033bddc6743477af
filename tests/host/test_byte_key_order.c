/*
** byte_key() against SQLite itself: keys of random values and tuples compare as SQLite's <, = and
** ORDER BY compare the values, and byte_key_values gives the values back.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>

#include "effort.h"
#include "test_random.h"
#include "tranche.h"
#include "wide_reals.h"

static sqlite3 *db;

static int open_database(void **state) {
  (void)state;
  return sqlite3_open(":memory:", &db) != SQLITE_OK ||
         sqlite3_tranche_init(db, NULL, NULL) != SQLITE_OK;
}

static int close_database(void **state) {
  (void)state;
  return sqlite3_close(db) != SQLITE_OK;
}

static void run(const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  }
  return stmt;
}

static void bind(sqlite3_stmt *stmt, int at, const tr_value *value) {
  const char *bytes = (const char *)value->bytes.data;
  int rc = SQLITE_ERROR;
  switch (value->type) {
  case TR_NULL: rc = sqlite3_bind_null(stmt, at); break;
  case TR_INTEGER: rc = sqlite3_bind_int64(stmt, at, value->integer); break;
  case TR_REAL: rc = sqlite3_bind_double(stmt, at, value->real); break;
  case TR_TEXT:
    rc = sqlite3_bind_text64(stmt, at, bytes, value->bytes.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    break;
  case TR_BLOB:
    rc = sqlite3_bind_blob64(stmt, at, value->bytes.size == 0 ? "" : bytes, value->bytes.size,
                             SQLITE_TRANSIENT);
    break;
  }
  assert_int_equal(rc, SQLITE_OK);
}

static void bind_tuple(sqlite3_stmt *stmt, int first, const test_tuple *tuple) {
  for (size_t i = 0; i < tuple->count; i++) bind(stmt, first + (int)i, &tuple->values[i]);
}

/* Cuts integers to what SQLite itself compares exactly with REALs. */
static void keep_comparable(test_tuple *tuple) {
  if (reals_are_wide()) return;
  for (size_t i = 0; i < tuple->count; i++) {
    if (tuple->values[i].type == TR_INTEGER) tuple->values[i].integer %= INT64_C(1) << 53;
  }
}

/* SQLite compares NULL with < to NULL, so such pairs are for the test by ORDER BY. */
static void test_pairs(void **state) {
  (void)state;
  test_random random = test_random_begin("pairs against SQLite");
  sqlite3_stmt *stmt = prepare("SELECT ?1 < ?2, ?1 = ?2, byte_key(?1) < byte_key(?2), "
                               "byte_key(?1) = byte_key(?2)");
  for (long i = test_effort(300000); i > 0; i--) {
    test_tuple a, b;
    test_random_tuple(&random, 1, &a);
    if (i % 3 == 0) {
      test_random_tuple(&random, 1, &b);
    } else {
      test_random_similar(&random, &a, &b);
    }
    keep_comparable(&a);
    keep_comparable(&b);
    if (a.values[0].type == TR_NULL || b.values[0].type == TR_NULL) continue;
    bind_tuple(stmt, 1, &a);
    bind_tuple(stmt, 2, &b);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), sqlite3_column_int(stmt, 2));
    assert_int_equal(sqlite3_column_int(stmt, 1), sqlite3_column_int(stmt, 3));
    sqlite3_reset(stmt);
  }
  sqlite3_finalize(stmt);
}

/* Sorted by its columns, a table's keys ascend, and stay equal just where all columns do. */
static void test_tuples(void **state) {
  (void)state;
  test_random random = test_random_begin("tuples against SQLite");
  run("CREATE TABLE tuples(a, b, c, key BLOB); BEGIN");
  sqlite3_stmt *insert = prepare("INSERT INTO tuples VALUES (?1, ?2, ?3, byte_key(?1, ?2, ?3))");
  for (long i = test_effort(100000); i > 0; i--) {
    test_tuple tuples[2];
    test_random_tuple(&random, TEST_TUPLE_MAX, &tuples[0]);
    test_random_similar(&random, &tuples[0], &tuples[1]);
    for (int t = 0; t < 2; t++) {
      keep_comparable(&tuples[t]);
      bind_tuple(insert, 1, &tuples[t]);
      assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
      sqlite3_reset(insert);
    }
  }
  sqlite3_finalize(insert);
  run("COMMIT");

  sqlite3_stmt *check =
      prepare("SELECT count(*), sum(is_same), sum(is_same AND key <> before), "
              "sum(NOT is_same AND key <= before) FROM ("
              "SELECT key, lag(key) OVER w AS before, lag(a) OVER w IS a AND lag(b) OVER w IS b "
              "AND lag(c) OVER w IS c AS is_same FROM tuples WINDOW w AS (ORDER BY a, b, c))");
  assert_int_equal(sqlite3_step(check), SQLITE_ROW);
  assert_int_equal(sqlite3_column_int64(check, 0), 2 * test_effort(100000));
  assert_in_range(sqlite3_column_int64(check, 1), 1, test_effort(100000));
  assert_int_equal(sqlite3_column_int64(check, 2), 0);
  assert_int_equal(sqlite3_column_int64(check, 3), 0);
  sqlite3_finalize(check);
}

/* Every third of the same tuples, read back as SQL values of the same types. */
static void test_values(void **state) {
  (void)state;
  sqlite3_stmt *stmt =
      prepare("SELECT count(*), sum(NOT (original IS value AND typeof(value) = CASE WHEN "
              "typeof(original) = 'real' AND original >= -9223372036854775808.0 AND "
              "original < 9223372036854775808.0 AND original = CAST(original AS INTEGER) "
              "THEN 'integer' ELSE typeof(original) END)) FROM (SELECT value, "
              "CASE ordinal WHEN 0 THEN a WHEN 1 THEN b ELSE c END AS original "
              "FROM tuples, byte_key_values(tuples.key) WHERE tuples.rowid % 3 = 0)");
  if (sqlite3_step(stmt) != SQLITE_ROW) fail_msg("%s", sqlite3_errmsg(db));
  assert_int_equal(sqlite3_column_int64(stmt, 0), 2 * test_effort(100000) / 3 * 3);
  assert_int_equal(sqlite3_column_int64(stmt, 1), 0);
  sqlite3_finalize(stmt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_tuples),
      cmocka_unit_test(test_values),
  };
  return cmocka_run_group_tests_name("byte_key_order", tests, open_database, close_database);
}
