/*
** host/source_table.h: what is read of a table, and which keys it can have in which form.
** host/source_estimate.h: how many rows it has, roughly.
** host/key_bytes.h: ranges of keys as SQL bounds lose no row of any table. (The property test of
** byte_key_scan tests that from the outside.)
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define SQLITE_CORE 1 /* linked in, like the extension under test */
#include "host/source_estimate.h"
#include "host/source_table.h"

static sqlite3 *open_tables(void) {
  static const char sql[] =
      "CREATE TABLE plain(a, b INTEGER, c TEXT COLLATE NOCASE);"
      "CREATE TABLE alias(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n TEXT NOT NULL UNIQUE, b BLOB "
      "UNIQUE, "
      "  u UNIQUE, i INT UNIQUE, UNIQUE (k, i));"
      "CREATE TABLE desc_key(x INTEGER PRIMARY KEY DESC, y INT);"
      "CREATE TABLE without(a TEXT, b BLOB, PRIMARY KEY (b, a DESC)) WITHOUT ROWID;"
      "CREATE TABLE \"no case\"(k TEXT COLLATE NOCASE PRIMARY KEY);"
      "CREATE TABLE own_binary(k TEXT COLLATE NOCASE);"
      "CREATE UNIQUE INDEX own_binary_k ON own_binary(k COLLATE BINARY);"
      "CREATE TABLE hidden(rowid TEXT, oid INT, _rowid_ INT UNIQUE, n INT NOT NULL UNIQUE);"
      "CREATE TABLE half_hidden(rowid TEXT, oid INT);"
      "CREATE TABLE partial(k TEXT NOT NULL); CREATE UNIQUE INDEX partial_k ON partial(k) WHERE k "
      "> 'm';"
      "CREATE TABLE expression(k TEXT); CREATE UNIQUE INDEX expression_k ON expression(lower(k));"
      "CREATE TABLE generated(a INT, s AS (a * 2) STORED UNIQUE, v INT AS (a + 1) VIRTUAL);"
      "CREATE TABLE strict_one(k TEXT PRIMARY KEY, any_value ANY UNIQUE, i INT) STRICT;"
      "CREATE VIEW view_of AS SELECT a AS x, b FROM plain;"
      "CREATE TEMP TABLE plain(only_temp);"
      "ATTACH ':memory:' AS \"other db\"; CREATE TABLE \"other db\".far(id INTEGER PRIMARY KEY);";
  sqlite3 *db;
  char *message = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  sqlite3_exec(db, sql, NULL, NULL, &message);
  if (message != NULL) fprintf(stderr, "%s\n", message);
  assert_null(message);
  return db;
}

static const char *const forms[] = {"none", "rowid", "text", "blob", "encoded"};

/* Each key as `form: columns, the rowid's name, + with a breaker`, or the reason why it is none. */
static void keys_and_their_forms(void **state) {
  (void)state;
  static const struct {
    const char *schema, *table, *key, *expected;
  } cases[] = {
      {"main", "plain", "", "rowid: rowid"},
      {NULL, "plain", "", "rowid: rowid"},
      {NULL, "ALIAS", "", "rowid: id id"},
      {NULL, "alias", "id", "rowid: id id"},
      {NULL, "alias", "rowid", "rowid: id"},
      {NULL, "alias", "OID", "rowid: id"},
      {NULL, "alias", "k", "text: k id +"},
      {NULL, "alias", "n", "text: n id"},
      {NULL, "alias", "b", "blob: b id +"},
      {NULL, "alias", "byte_key(b)", "encoded: b id +"},
      {NULL, "alias", "u", "encoded: u id +"},
      {NULL, "alias", "i", "encoded: i id +"},
      {NULL, "alias", "k, i", "encoded: k i id +"},
      {NULL, "alias", "byte_key(k, i)", "encoded: k i id +"},
      {NULL, "desc_key", "", "rowid: rowid"},
      {NULL, "desc_key", "x", "encoded: x rowid +"},
      {NULL, "without", "", "encoded: b a"},
      {NULL, "without", "b, a", "encoded: b a"},
      {NULL, "no case", "", "rowid: rowid"},
      {NULL, "own_binary", "k", "text: k rowid +"},
      {NULL, "half_hidden", "", "rowid: _rowid_"},
      {NULL, "hidden", "n", "encoded: n"},
      {NULL, "generated", "s", "encoded: s rowid +"},
      {NULL, "strict_one", "any_value", "encoded: any_value rowid +"},
      {"other db", "far", "", "rowid: id id"},
      {NULL, "far", "", "rowid: id id"},
      {NULL, "sqlite_schema", "", "rowid: rowid"},
      {NULL, "alias", "i, k", "in another order"},
      {NULL, "alias", "k, n", "not unique"},
      {NULL, "alias", "k + 1", "must be the name of a column"},
      {NULL, "alias", "k AS l", "must be the name of a column"},
      {NULL, "alias", "byte_key(id)", "the rowid needs no byte_key"},
      {NULL, "alias", "nothing", "there is no column nothing"},
      {NULL, "without", "rowid", "there is no column rowid"},
      {NULL, "no case", "k", "the collation is not BINARY"},
      {NULL, "hidden", "", "hide the rowid"},
      {NULL, "hidden", "_rowid_", "may be NULL, and columns hide the rowid"},
      {NULL, "partial", "k", "unique only in part"},
      {NULL, "expression", "k", "not unique"},
      {NULL, "view_of", "", "is a view"},
      {NULL, "far_away", "", "no such table: far_away"},
      {"main", "far", "", "no such table: main.far"},
      {"nowhere", "far", "", "no such table: nowhere.far"},
  };
  sqlite3 *db = open_tables();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_source_table source;
    tr_argument_list columns;
    tr_error err = {0};
    char text[200] = "";
    assert_int_equal(tr_argument_list_parse(&columns, tr_bytes_of_text(cases[i].key), NULL), TR_OK);
    tr_code code = tr_source_table_read(&source, db, "test", cases[i].schema, cases[i].table, &err);
    if (code == TR_OK) code = tr_source_table_set_key(&source, db, "test", &columns, &err);
    if (code == TR_OK) {
      snprintf(text, sizeof text, "%s:", forms[source.key.form]);
      for (int c = 0; c < source.key.column_count; c++) {
        snprintf(text + strlen(text), 50, " %s", source.columns[source.key.columns[c]].name);
      }
      if (source.rowid_name != NULL) snprintf(text + strlen(text), 50, " %s", source.rowid_name);
      if (source.key.has_null_breaker) strcat(text, " +");
      assert_string_equal(text, cases[i].expected);
    } else {
      if (strstr(err.message, cases[i].expected) == NULL) fprintf(stderr, "%s\n", err.message);
      assert_int_equal(code, TR_INVALID_ARGUMENT);
      assert_non_null(strstr(err.message, cases[i].expected));
    }
    tr_source_table_free(&source);
    tr_argument_list_free(&columns);
  }
  sqlite3_close(db);
}

static void columns_and_how_they_are_declared(void **state) {
  (void)state;
  static const struct {
    const char *column; /* as in CREATE TABLE */
    tr_affinity affinity;
    const char *declared;
  } cases[] = {
      {"a", TR_AFFINITY_BLOB, "\"a\" COLLATE \"BINARY\""},
      {"a INTEGER", TR_AFFINITY_INTEGER, "\"a\" INTEGER COLLATE \"BINARY\""},
      {"a VARCHAR(10) COLLATE RTRIM", TR_AFFINITY_TEXT, "\"a\" VARCHAR(10) COLLATE \"RTRIM\""},
      {"a CHARINT", TR_AFFINITY_INTEGER, "\"a\" CHARINT COLLATE \"BINARY\""},
      {"a DOUBLE PRECISION", TR_AFFINITY_REAL, "\"a\" DOUBLE PRECISION COLLATE \"BINARY\""},
      {"a DATE", TR_AFFINITY_NUMERIC, "\"a\" DATE COLLATE \"BINARY\""},
      {"a BLOB", TR_AFFINITY_BLOB, "\"a\" BLOB COLLATE \"BINARY\""},
      {"a \"hidden text\"", TR_AFFINITY_TEXT, "\"a\" TEXT COLLATE \"BINARY\""},
      {"a hidden", TR_AFFINITY_NUMERIC, "\"a\" NUMERIC COLLATE \"BINARY\""},
      {"\"x\"\"y\" INT NOT NULL", TR_AFFINITY_INTEGER, "\"x\"\"y\" INT COLLATE \"BINARY\""},
      {"a FLOATING POINT", TR_AFFINITY_INTEGER, "\"a\" FLOATING POINT COLLATE \"BINARY\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sqlite3 *db;
    char sql[200];
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    snprintf(sql, sizeof sql, "CREATE TABLE t(%s)", cases[i].column);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    tr_source_table source;
    assert_int_equal(tr_source_table_read(&source, db, "test", NULL, "t", NULL), TR_OK);
    assert_int_equal(source.column_count, 1);
    assert_int_equal(source.columns[0].affinity, cases[i].affinity);
    sqlite3_str *declaration = sqlite3_str_new(NULL);
    tr_source_column_declare(&source.columns[0], source.columns[0].name, declaration);
    char *text = sqlite3_str_finish(declaration);
    assert_string_equal(text, cases[i].declared);
    sqlite3_free(text);
    tr_source_table_free(&source);
    sqlite3_close(db);
  }
}

static void kinds_of_tables(void **state) {
  (void)state;
  static const struct {
    const char *table;
    tr_source_kind kind;
    int column_count;
  } cases[] = {
      {"alias", TR_SOURCE_ROWID_TABLE, 6},
      {"without", TR_SOURCE_WITHOUT_ROWID, 2},
      {"view_of", TR_SOURCE_VIEW, 2},
      {"generated", TR_SOURCE_ROWID_TABLE, 3},
      {"sqlite_master", TR_SOURCE_ROWID_TABLE, 5},
      {"pragma_function_list", TR_SOURCE_VIRTUAL, 6},
  };
  sqlite3 *db = open_tables();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_source_table source;
    assert_int_equal(tr_source_table_read(&source, db, "test", NULL, cases[i].table, NULL), TR_OK);
    assert_int_equal(source.kind, cases[i].kind);
    assert_true(source.column_count >= cases[i].column_count);
    tr_source_table_free(&source);
  }
  sqlite3_close(db);
}

static void estimates_of_rows(void **state) {
  (void)state;
  sqlite3 *db;
  tr_source_table source;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_exec(
          db,
          "CREATE TABLE t(id INTEGER PRIMARY KEY, v INT); CREATE INDEX t_v ON t(v);"
          "INSERT INTO t WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
          "  SELECT i, i FROM n",
          NULL, NULL, NULL),
      SQLITE_OK);
  assert_int_equal(tr_source_table_read(&source, db, "test", NULL, "t", NULL), TR_OK);
  assert_in_range(tr_source_table_estimated_rows(&source, db), 500, 3000);
  assert_int_equal(
      sqlite3_exec(db, "INSERT INTO t VALUES (9223372036854775807, 0), (-9223372036854775808, 0)",
                   NULL, NULL, NULL),
      SQLITE_OK);
  assert_in_range(tr_source_table_estimated_rows(&source, db), 500, 100000);
  assert_int_equal(sqlite3_exec(db, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(tr_source_table_estimated_rows(&source, db), 3002);
  tr_source_table_free(&source);
  sqlite3_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_and_their_forms),
      cmocka_unit_test(columns_and_how_they_are_declared),
      cmocka_unit_test(kinds_of_tables),
      cmocka_unit_test(estimates_of_rows),
  };
  return cmocka_run_group_tests_name("source tables", tests, NULL, NULL);
}
