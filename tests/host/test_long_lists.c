/*
** IN lists of any length over scans: as many rows as from the source itself, whatever types meet,
** also where SQLite has not enough parameters for the list, or not enough depth for a term of each
** value.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "database.h"

static const char *const types[] = {"",     "INTEGER", "TEXT", "REAL",
                                    "BLOB", "NUMERIC", "DATE", "TEXT COLLATE NOCASE"};

enum { TYPES = sizeof types / sizeof *types };

/* All tables on which the source's answer must come. */
static const char *const tables[] = {"s", "j", "k", "g"};

static void compare(sqlite3 *db, const char *list) {
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT count(*) = (SELECT count(*) FROM t WHERE b IN (%s)) FROM %s WHERE b IN (%s)",
             list, tables[i], list);
    const char *answer = database_text(db, sql);
    if (strcmp(answer, "1") != 0) fail_msg("%s over %s: %s", list, tables[i], answer);
  }
}

/* The table has 3,000 values of a type in `b`: numbers, as a list may have them, and text. */
static sqlite3 *open_with(const char *type) {
  char sql[600];
  sqlite3 *db = database_open(":memory:", 0);
  snprintf(sql, sizeof sql,
           "CREATE TABLE t(id INTEGER PRIMARY KEY, b %s UNIQUE);"
           "INSERT INTO t(b) SELECT value FROM counting_input(3000);"
           "INSERT INTO t(b) SELECT 'x' || value FROM counting_input(100);"
           "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);"
           "CREATE VIRTUAL TABLE j USING scan_job(t);"
           "CREATE VIRTUAL TABLE temp.g USING group_by_fields(t, by_field_names(b), count(*) AS n)",
           type);
  database_must(db, sql);
  /* By that key, where its column's collation lets it be one. */
  if (database_run(db, "CREATE VIRTUAL TABLE temp.k USING byte_key_scan(t, key(byte_key(b)))") !=
      SQLITE_OK) {
    database_must(db, "CREATE VIRTUAL TABLE temp.k USING byte_key_scan(t)");
  }
  return db;
}

static void lists_of_every_length_and_type(void **state) {
  (void)state;
  static const int lengths[] = {0, 1, 1001, 2500};
  for (int column = 0; column < TYPES; column++) {
    sqlite3 *db = open_with(types[column]);
    for (int type = 0; type < TYPES; type++) {
      char sql[300];
      snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS list; CREATE TABLE list(v %s);", types[type]);
      database_must(db, sql);
      for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        snprintf(sql, sizeof sql,
                 "DELETE FROM list; INSERT INTO list SELECT value FROM counting_input(%d);"
                 "INSERT INTO list VALUES ('x5'), (NULL), (x'78'), ('07'), (8.0), (9.5)",
                 lengths[i]);
        database_must(db, sql);
        compare(db, "SELECT v FROM list");
        compare(db, "SELECT +v FROM list");
        compare(db, "SELECT v FROM list WHERE v > 1e9");
      }
    }
    sqlite3_close(db);
  }
}

/* A term whose value decides nothing has a parameter that its condition does not name. */
static void a_list_behind_a_term_without_a_condition(void **state) {
  (void)state;
  sqlite3 *db = open_with("TEXT");
  static const char where[] = "WHERE b >= a.v AND id IN (SELECT id FROM t WHERE id % 3 = 0)";
  char sql[400];
  database_must(db, "CREATE TABLE a(v INTEGER); INSERT INTO a VALUES (7)");
  snprintf(sql, sizeof sql, "SELECT count(*) FROM a CROSS JOIN t %s", where);
  int64_t expected = database_integer(db, sql);
  snprintf(sql, sizeof sql, "SELECT count(*) FROM a CROSS JOIN s %s", where);
  assert_true(expected > 1000);
  assert_int_equal(database_integer(db, sql), expected);
  sqlite3_close(db);
}

/* Where the host has few parameters, the list only narrows the range, and two lists share them. */
static void lists_that_sqlite_has_no_parameters_for(void **state) {
  (void)state;
  static const int limits[] = {20, 50, 200, 1000, 1500, 3000};
  for (int column = 0; column < TYPES; column++) {
    sqlite3 *db = open_with(types[column]);
    database_must(db, "CREATE TABLE list AS SELECT value AS v FROM counting_input(1200)");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
      sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, limits[i]);
      compare(db, "SELECT v FROM list");
      assert_int_equal(database_integer(db,
                                        "SELECT count(*) FROM s WHERE id IN (SELECT v FROM list)"
                                        " AND b IN (SELECT b FROM t) AND id > 200"),
                       999);
    }
    sqlite3_close(db);
  }
}

/* The keys of a long list are looked up. */
static void a_long_list_of_keys_is_looked_up(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t SELECT value * 2 FROM counting_input(200000);"
                    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);"
                    "CREATE TABLE list AS SELECT value * 20 AS v FROM counting_input(20001)");
  static const char *const questions[] = {
      "SELECT count(*) FROM t WHERE id IN (SELECT v FROM list)",
      "SELECT count(*) FROM s WHERE id IN (SELECT v FROM list)",
      "SELECT count(*) FROM s WHERE id IN (SELECT v FROM list) AND tracker = 'w'",
  };
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    assert_int_equal(database_integer(db, questions[i]), 20000);
  }
  sqlite3_close(db);
}

static int count_call(void *count, int action, const char *a, const char *b, const char *c,
                      const char *d) {
  (void)action, (void)a, (void)b, (void)c, (void)d;
  ++*(int *)count;
  return SQLITE_OK;
}

/* The table function compiles its statement once, however often SQLite begins the scan again. */
static void a_table_function_is_compiled_once(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  int calls[2] = {0};
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t SELECT value FROM counting_input(1000);"
                    "CREATE TABLE list AS SELECT byte_key FROM byte_key_scan('t')");
  for (int i = 0; i < 2; i++) {
    char sql[200];
    int count = i == 0 ? 2 : 1000;
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM byte_key_scan('t')"
             " WHERE byte_key IN (SELECT byte_key FROM list LIMIT %d)",
             count);
    sqlite3_set_authorizer(db, count_call, &calls[i]);
    assert_int_equal(database_integer(db, sql), count);
    sqlite3_set_authorizer(db, NULL, NULL);
  }
  assert_true(calls[0] > 0);
  assert_int_equal(calls[1], calls[0]);
  /* Another source, and one that has changed, are read as they are. */
  database_must(db, "CREATE TABLE names(name); INSERT INTO names VALUES ('t'), ('u'), ('t');"
                    "CREATE TABLE u(id INTEGER PRIMARY KEY); INSERT INTO u VALUES (7)");
  assert_string_equal(database_text(db,
                                    "SELECT group_concat(row) FROM names JOIN byte_key_scan(name)"
                                    " WHERE row ->> 'id' IN (1, 7)"),
                      "{\"id\":1},{\"id\":7},{\"id\":7},{\"id\":1},{\"id\":7}");
  sqlite3_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_of_every_length_and_type),
      cmocka_unit_test(a_list_behind_a_term_without_a_condition),
      cmocka_unit_test(lists_that_sqlite_has_no_parameters_for),
      cmocka_unit_test(a_long_list_of_keys_is_looked_up),
      cmocka_unit_test(a_table_function_is_compiled_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
