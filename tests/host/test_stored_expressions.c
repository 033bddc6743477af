/*
** What where(...) of a table in a file may call: the same as a view in that file. The program has
** registered functions that record whether they are called.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

static int calls;

static void count_call(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  calls++;
  sqlite3_result_int(context, 1);
}

static sqlite3 *open_with_functions(const char *path) {
  static const struct {
    const char *name;
    int flags;
  } functions[] = {{"burn", SQLITE_DIRECTONLY},
                   {"ask", 0},
                   {"pure", SQLITE_INNOCUOUS},
                   {"regexp", SQLITE_DIRECTONLY},
                   {"mixed", SQLITE_INNOCUOUS}};
  sqlite3 *db = database_open(path, 0);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    int arguments = strcmp(functions[i].name, "mixed") == 0 ? 1 : -1;
    assert_int_equal(sqlite3_create_function(db, functions[i].name, arguments,
                                             SQLITE_UTF8 | functions[i].flags, NULL, count_call,
                                             NULL, NULL),
                     SQLITE_OK);
  }
  assert_int_equal(sqlite3_create_function(db, "mixed", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                           count_call, NULL, NULL),
                   SQLITE_OK);
  return db;
}

/*
** An expression, and the function that its error names with trusted_schema on and off; NULL: it may
** run.
*/
static const struct {
  const char *where;
  const char *trusted;
  const char *untrusted;
} cases[] = {
    {"a > 0", NULL, NULL},
    {"abs(a) > 0 AND (a) IN (1, 5) AND CAST(a AS TEXT) LIKE '5%'", NULL, NULL},
    {"CASE WHEN(a)THEN(1)ELSE(0)END AND NOT(a IS(3))", NULL, NULL},
    {"pure(a)", NULL, NULL},
    {"\"a\" BETWEEN(1)AND(9)", NULL, NULL},
    {"'burn(' <> a", NULL, NULL},
    {"ask(a)", NULL, "ask"},
    {"burn(a)", "burn", "burn"},
    {"pure(burn(a))", "burn", "burn"},
    {"a OR burn /* ( */ (a)", "burn", "burn"},
    {"a OR burn -- \n(a)", "burn", "burn"},
    {"\"burn\"(a)", "burn", "burn"},
    {"[burn](a)", "burn", "burn"},
    {"`BURN`(a)", "BURN", "BURN"},
    {"\xef\xbb\xbf"
     "burn(a)",
     "burn", "burn"},
    {"mixed(a)", "mixed", "mixed"},
    {"a REGEXP 'x'", "REGEXP", "REGEXP"},
    {"a NOT REGEXP 'x'", "REGEXP", "REGEXP"},
    {"a NOT MATCH 'x'", NULL, "MATCH"},
    {"load_extension('x')", "load_extension", "load_extension"},
    {"tracker_open('x', offset_range(0, 9))", "tracker_open", "tracker_open"},
    {"(SELECT burn(1))", "SELECT", "SELECT"},
    {"EXISTS (SELECT 1)", "EXISTS", "EXISTS"},
    {"a IN (VALUES (5))", "VALUES", "VALUES"},
    {"a IN t", "IN", "IN"},
    {"a IN range_trackers", "IN", "IN"},
    {"a IN \"pragma_function_list\"", "IN", "IN"},
    {"a IN (WITH x AS (SELECT 5) SELECT * FROM x)", "WITH", "WITH"},
    {"filter(a)", "filter", "filter"},
};

/* Creates the table. Then reads it in another connection as it is in the file. */
static void check_one(const char *module, size_t i, int is_trusted) {
  char sql[400], path[512];
  const char *refused = is_trusted ? cases[i].trusted : cases[i].untrusted;
  database_path("stored", path);
  sqlite3 *db = open_with_functions(path);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 5)");
  database_must(db, is_trusted ? "PRAGMA trusted_schema = ON" : "PRAGMA trusted_schema = OFF");
  snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE s USING %s(t, where(%s))", module,
           cases[i].where);
  calls = 0;
  int rc = database_run(db, sql);
  /* MATCH has no implementation to run. */
  int is_match = strstr(cases[i].where, "MATCH") != NULL;
  if (refused == NULL && rc != SQLITE_OK && !is_match) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  if (refused != NULL && (rc == SQLITE_OK || strstr(sqlite3_errmsg(db), refused) == NULL)) {
    fail_msg("%s: not refused because of %s: %s", sql, refused, sqlite3_errmsg(db));
  }
  /* Behind SQLite's back, as somebody writes it who means harm. */
  if (refused != NULL) {
    database_must(db, "PRAGMA writable_schema = ON");
    char *insert =
        sqlite3_mprintf("INSERT INTO sqlite_master VALUES ('table', 's', 's', 0, %Q)", sql);
    database_must(db, insert);
    sqlite3_free(insert);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  db = open_with_functions(path);
  database_must(db, is_trusted ? "PRAGMA trusted_schema = ON" : "PRAGMA trusted_schema = OFF");
  calls = 0;
  const char *answer = database_text(db, "SELECT count(*) FROM s");
  if (refused != NULL && (strncmp(answer, "error", 5) != 0 || calls > 0)) {
    fail_msg("%s: read from the file: %s, %d calls", sql, answer, calls);
  }
  if (refused == NULL && !is_match && strcmp(answer, "1") != 0) fail_msg("%s: %s", sql, answer);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

static void a_table_in_a_file_does_what_a_view_may(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int is_trusted = 0; is_trusted < 2; is_trusted++) {
      check_one("byte_key_scan", i, is_trusted);
      check_one("scan_job", i, is_trusted);
    }
  }
}

static void a_table_in_temp_may_call_anything(void **state) {
  (void)state;
  sqlite3 *db = open_with_functions(":memory:");
  database_must(
      db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 5);"
          "CREATE TABLE t2(x); INSERT INTO t2 VALUES (1); PRAGMA trusted_schema = OFF;"
          "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, where(burn(a) AND id IN t2));"
          "CREATE VIRTUAL TABLE temp.j USING scan_job(t, where(burn(a) AND EXISTS (SELECT 1)))");
  calls = 0;
  assert_int_equal(database_integer(db, "SELECT a FROM s"), 5);
  assert_int_equal(database_integer(db, "SELECT a FROM j"), 5);
  assert_int_equal(calls, 2);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void trust_is_looked_at_again_when_it_is_withdrawn(void **state) {
  (void)state;
  sqlite3 *db = open_with_functions(":memory:");
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 5);"
                    "CREATE VIRTUAL TABLE s USING byte_key_scan(t, where(ask(a)))");
  assert_int_equal(database_integer(db, "SELECT a FROM s"), 5);
  database_must(db, "PRAGMA trusted_schema = OFF");
  calls = 0;
  const char *answer = database_text(db, "SELECT a FROM s");
  if (strstr(answer, "trusted_schema") == NULL || calls > 0) fail_msg("%s", answer);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_table_in_a_file_needs_a_source_in_a_file(void **state) {
  (void)state;
  static const char *const modules[] = {"byte_key_scan", "scan_job"};
  for (size_t i = 0; i < 2; i++) {
    char sql[200];
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TEMP TABLE tt(id INTEGER PRIMARY KEY, a)");
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE main.s USING %s(tt)", modules[i]);
    assert_int_equal(database_run(db, sql), SQLITE_ERROR);
    if (strstr(sqlite3_errmsg(db), "temp.tt vanishes") == NULL) fail_msg("%s", sqlite3_errmsg(db));
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE temp.s USING %s(tt)", modules[i]);
    database_must(db, sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_in_a_file_does_what_a_view_may),
      cmocka_unit_test(a_table_in_temp_may_call_anything),
      cmocka_unit_test(trust_is_looked_at_again_when_it_is_withdrawn),
      cmocka_unit_test(a_table_in_a_file_needs_a_source_in_a_file),
  };
  return cmocka_run_group_tests_name("stored expressions", tests, NULL, NULL);
}
