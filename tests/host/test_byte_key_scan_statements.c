/*
** byte_key_scan within other statements: outer joins, tables that are filled from themselves, and
** statements that fail.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "database.h"

static void assert_answer(sqlite3 *db, const char *sql, const char *expected) {
  assert_string_equal(database_text(db, sql), expected);
}

/*
** SQLite finds its place in a WITHOUT ROWID table again by the whole record. So a row that was
** rewritten in its place counts as the next one there, and must still come once. The oracle is a
** view, whose rows SQLite reads before it writes. The LIMIT is for the case that a scan has no end.
*/
static void a_row_that_is_rewritten_in_its_place_comes_once(void **state) {
  (void)state;
  static const char *const keys[] = {"k INT PRIMARY KEY", "k TEXT PRIMARY KEY",
                                     "k BLOB PRIMARY KEY", "k, c DEFAULT 'c', PRIMARY KEY(k, c)"};
  static const char *const selects[] = {
      "SELECT k, a FROM v WHERE true LIMIT 100",
      "SELECT k, a FROM s WHERE true LIMIT 100",
      "SELECT k, a FROM s WHERE tracker = 'w' LIMIT 100",
      "SELECT k, a FROM j WHERE true LIMIT 100",
  };
  static const char *const writes[] = {
      "INSERT INTO t(k, a) %s ON CONFLICT DO UPDATE SET a = t.a + excluded.a",
      "INSERT INTO t(k, a) %s ON CONFLICT DO UPDATE SET a = -excluded.a",
      "REPLACE INTO t(k, a) %s",
  };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    for (size_t j = 0; j < sizeof writes / sizeof *writes; j++) {
      char expected[100] = "";
      for (size_t k = 0; k < sizeof selects / sizeof *selects; k++) {
        char sql[500];
        sqlite3 *db = database_open(":memory:", 0);
        snprintf(sql, sizeof sql,
                 "CREATE TABLE t(a, %s) WITHOUT ROWID; CREATE VIEW v AS SELECT * FROM t;"
                 "INSERT INTO t(k, a) VALUES (x'01', 4), (x'02', -5), (x'03', 6);"
                 "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);"
                 "CREATE VIRTUAL TABLE j USING scan_job(t)",
                 keys[i]);
        database_must(db, sql);
        snprintf(sql, sizeof sql, writes[j], selects[k]);
        database_must(db, sql);
        const char *answer = database_text(db, "SELECT group_concat(a) FROM t");
        if (k == 0) snprintf(expected, sizeof expected, "%s", answer);
        if (strcmp(answer, expected) != 0) fail_msg("%s: %s: %s", keys[i], sql, answer);
        sqlite3_close(db);
      }
    }
  }
}

/* The same by a statement of its own for each row, where SQLite's own scan has no end. */
static void rows_that_a_loop_rewrites_come_once(void **state) {
  (void)state;
  static const char *const selects[] = {"SELECT k FROM s LIMIT 100",
                                        "SELECT k FROM s WHERE tracker = 'w' LIMIT 100",
                                        "SELECT k FROM j LIMIT 100"};
  for (size_t i = 0; i < sizeof selects / sizeof *selects; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    sqlite3_stmt *rows, *write;
    int rc, count = 0;
    database_must(db, "CREATE TABLE t(k INT PRIMARY KEY, a) WITHOUT ROWID;"
                      "INSERT INTO t SELECT value, 0 FROM counting_input(20);"
                      "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);"
                      "CREATE VIRTUAL TABLE j USING scan_job(t)");
    assert_int_equal(sqlite3_prepare_v2(db, selects[i], -1, &rows, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "UPDATE t SET a = a + 1 WHERE k = ?1", -1, &write, NULL), SQLITE_OK);
    for (; (rc = sqlite3_step(rows)) == SQLITE_ROW; count++) {
      sqlite3_bind_value(write, 1, sqlite3_column_value(rows, 0));
      assert_int_equal(sqlite3_step(write), SQLITE_DONE);
      sqlite3_reset(write);
    }
    assert_int_equal(rc, SQLITE_DONE);
    assert_int_equal(count, 20);
    assert_answer(db, "SELECT min(a) || max(a) FROM t", "11");
    sqlite3_finalize(rows);
    sqlite3_finalize(write);
    sqlite3_close(db);
  }
}

/* regexp(pattern, text), as far as tests need it. */
static void is_same(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  const char *pattern = (const char *)sqlite3_value_text(argv[0]);
  const char *text = (const char *)sqlite3_value_text(argv[1]);
  sqlite3_result_int(context, pattern != NULL && text != NULL && strcmp(pattern, text) == 0);
}

/*
** A statement that writes into the table which it reads by a scan reads the rows that were there
** when the scan began, and ends. The LIMIT is for the case that it does not.
*/
static void a_table_is_filled_from_itself(void **state) {
  (void)state;
  static const struct {
    const char *table, *insert, *answer, *expected;
  } cases[] = {
      {"t(a INTEGER PRIMARY KEY, b)", "SELECT a + 3, b FROM s WHERE a < 100000",
       "SELECT group_concat(a || b) FROM t", "1x,2y,3z,4x,5y,6z"},
      {"t(a INTEGER PRIMARY KEY, b)", "SELECT a + 3, b FROM s", "SELECT group_concat(a) FROM t",
       "1,2,3,4,5,6"},
      {"t(a INTEGER PRIMARY KEY, b)", "SELECT NULL, b FROM s WHERE b > 'x'",
       "SELECT group_concat(a || b) FROM t", "1x,2y,3z,4y,5z"},
      {"t(a INTEGER PRIMARY KEY, b)",
       "SELECT (row ->> 'a') + 3, row ->> 'b' FROM byte_key_scan('t')",
       "SELECT group_concat(a || b) FROM t", "1x,2y,3z,4x,5y,6z"},
      {"t(a INTEGER PRIMARY KEY, b)",
       "SELECT a + 3, b FROM s WHERE restriction = byte_key_range(x'8000000000000002', x'')",
       "SELECT group_concat(a) FROM t", "1,2,3,5,6"},
      {"t(a INTEGER PRIMARY KEY, b)", "SELECT s.a + 10 * o.b, s.b FROM t AS o JOIN s ON s.a = o.a",
       "SELECT group_concat(a) FROM t", "1,2,3"},
      {"t(a INTEGER PRIMARY KEY, b)", "SELECT a + 3, b FROM j", "SELECT group_concat(a) FROM t",
       "1,2,3,4,5,6"},
      {"t(a INT PRIMARY KEY, b) WITHOUT ROWID", "SELECT a + 3, b FROM s",
       "SELECT group_concat(a) FROM t", "1,2,3,4,5,6"},
      /* New keys in between; in a table without rowids only after the last key. */
      {"t(a INT, b TEXT NOT NULL, UNIQUE(b))", "SELECT a + 3, b || 'a' FROM s",
       "SELECT group_concat(b) FROM (SELECT b FROM t ORDER BY b)", "x,xa,y,ya,z,za"},
      {"t(a INT, b TEXT, UNIQUE(b))", "SELECT a, b || 'a' FROM s UNION ALL SELECT 7, NULL",
       "SELECT count(*) FROM t", "7"},
      {"t(a, b TEXT PRIMARY KEY) WITHOUT ROWID", "SELECT a, '~' || b FROM s",
       "SELECT group_concat(b) FROM t", "x,y,z,~x,~y,~z"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char sql[600];
    sqlite3 *db = database_open(":memory:", 0);
    snprintf(sql, sizeof sql,
             "CREATE TABLE %s; INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z');"
             "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t%s);"
             "CREATE VIRTUAL TABLE j USING scan_job(t);"
             "INSERT OR IGNORE INTO t SELECT * FROM (%s) LIMIT 1000",
             cases[i].table, strstr(cases[i].table, "UNIQUE") != NULL ? ", key(b)" : "",
             cases[i].insert);
    database_must(db, sql);
    assert_answer(db, cases[i].answer, cases[i].expected);
    /* The next statement reads them all. From an empty table no statement reads anything. */
    assert_answer(db, "SELECT (SELECT count(*) FROM s) = (SELECT count(*) FROM t)", "1");
    database_must(db, "DELETE FROM t");
    database_must(db, strstr(sql, "INSERT OR IGNORE"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/*
** A tracker keeps its range: new rows after the last key are left to the next scan, and it is not
** done.
*/
static void a_table_is_filled_from_itself_by_name(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);"
                    "CREATE TABLE o(a); CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);"
                    "INSERT INTO t SELECT a + 3 FROM s WHERE tracker = 'w' LIMIT 1000");
  assert_answer(db, "SELECT group_concat(a) FROM t", "1,2,3,4,5,6");
  assert_answer(db, "SELECT done || hex(last_claimed) || restriction FROM range_trackers",
                "08000000000000003{\"start\":\"\",\"end\":\"\"}");
  database_must(db, "INSERT INTO t SELECT a + 3 FROM s WHERE tracker = 'w' LIMIT 1000");
  assert_answer(db, "SELECT group_concat(a) FROM t", "1,2,3,4,5,6,7,8,9");
  /* If it writes elsewhere it comes to the end. */
  database_must(db, "INSERT INTO o SELECT a FROM s WHERE tracker = 'w'");
  assert_answer(db, "SELECT group_concat(a) FROM o", "7,8,9");
  assert_answer(db, "SELECT tracker_check_done('w')", "1");
  database_must(db, "DELETE FROM o; DELETE FROM t;"
                    "INSERT INTO t SELECT 1 FROM s WHERE tracker = 'empty' LIMIT 1000");
  assert_answer(db, "SELECT tracker_check_done('empty') || (SELECT count(*) FROM t)", "10");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** A scan that the statement begins again, for each row of another table, ends where it first ended.
*/
static void an_inner_loop_meets_no_row_of_its_statement(void **state) {
  (void)state;
  static const char *const scans[] = {"s", "byte_key_scan('t')"};
  for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE o(n);"
                      "CREATE TABLE w(a);"
                      "INSERT INTO t(a) VALUES (1), (2), (3); INSERT INTO o VALUES (1), (2), (3);"
                      "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
    char sql[200];
    snprintf(sql, sizeof sql, "INSERT INTO t(a) SELECT n FROM o CROSS JOIN %s", scans[i]);
    database_must(db, sql);
    assert_answer(db, "SELECT count(*) FROM t", "12");
    /* The end belongs to the statement's table, and to the statement. */
    snprintf(sql, sizeof sql, "INSERT INTO w SELECT n FROM o CROSS JOIN %s", scans[i]);
    database_must(db, sql);
    assert_answer(db, "SELECT count(*) FROM w", "36");
    database_must(db, "INSERT INTO w SELECT 1 FROM (SELECT 't' AS name UNION ALL SELECT 'w') AS q"
                      " CROSS JOIN byte_key_scan(q.name)");
    assert_answer(db, "SELECT count(*) FROM w", "96");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/*
** What is in the ON of an outer join removes no row from the side that is kept. SQLite offers some
** of it to virtual tables all the same.
*/
static void outer_joins_keep_their_rows(void **state) {
  (void)state;
  static const char *const terms[] = {"s.c <> 'x'",
                                      "s.c IS NOT 'x'",
                                      "s.c IS NOT NULL",
                                      "s.c LIKE 'y%'",
                                      "s.c GLOB 'y*'",
                                      "s.c REGEXP 'y'",
                                      "s.c = 'y'",
                                      "s.c > 'x'",
                                      "s.c IS 'y'",
                                      "s.c IS NULL",
                                      "s.c IN ('y')",
                                      "s.a > 1",
                                      "s.a <> o.n",
                                      "s.b IS NOT o.n",
                                      "s.c LIKE 'y%' ESCAPE '!'",
                                      "s.i LIKE 'y%' ESCAPE '!'",
                                      "s.i LIKE 'q%' ESCAPE '!'",
                                      "s.a LIKE 'q%' ESCAPE '!'"};
  static const char *const joins[] = {"s LEFT JOIN o", "o RIGHT JOIN s", "s FULL JOIN o",
                                      "o LEFT JOIN s", "s RIGHT JOIN o", "o FULL JOIN s"};
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE o(n); INSERT INTO o VALUES (1), (2);"
                    "CREATE TABLE t(a INTEGER PRIMARY KEY, b, c TEXT, i INT COLLATE NOCASE);"
                    "INSERT INTO t VALUES (1, 2, 'x', 'y!'), (3, 4, 'y', 'Z'), (5, 6, NULL, 7);"
                    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  assert_int_equal(sqlite3_create_function(db, "regexp", 2, SQLITE_UTF8, NULL, is_same, NULL, NULL),
                   SQLITE_OK);
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    for (size_t j = 0; j < sizeof joins / sizeof *joins; j++) {
      char query[300], native[400];
      snprintf(query, sizeof query,
               "SELECT group_concat(r) FROM (SELECT ifnull(s.a, '-') || ifnull(o.n, '-') AS r "
               "FROM %s ON %s ORDER BY 1)",
               joins[j], terms[i]);
      snprintf(native, sizeof native, "WITH s AS (SELECT * FROM t LIMIT -1) %s", query);
      const char *expected = database_text(db, native);
      assert_answer(db, query, expected);
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* All rows of a query in their order, as one text. */
static char *rows_of(sqlite3 *db, const char *sql) {
  sqlite3_str *rows = sqlite3_str_new(NULL);
  sqlite3_stmt *stmt = NULL;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    sqlite3_str_appendchar(rows, 1, '(');
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      sqlite3_str_appendf(rows, " %s", sqlite3_column_text(stmt, i));
    }
    sqlite3_str_appendall(rows, " )");
  }
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  return sqlite3_str_finish(rows);
}

/*
** Several texts equal a number: '1', '01', '1.0'. So a column of text that equals something is not
** constant, and what follows it in the key is not in order.
*/
static void several_keys_equal_one_number(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE o(i INTEGER); INSERT INTO o VALUES (1), (7);"
                    "CREATE TABLE t(a TEXT, b INT, c, PRIMARY KEY (a, b)) WITHOUT ROWID;"
                    "INSERT INTO t VALUES ('01', 1, 5), ('01', 2, 6), ('1', 1, 7), ('1', 2, 8),"
                    " ('1.0', 3, 9);"
                    "CREATE TABLE u(k, d, UNIQUE (k)); INSERT INTO u VALUES (1, 2), ('1', 3);"
                    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t);"
                    "CREATE VIRTUAL TABLE temp.v USING byte_key_scan(u, key(k));"
                    "CREATE VIRTUAL TABLE temp.j USING scan_job(t)");
  static const char *const queries[] = {
      "SELECT b, count(*) FROM %s WHERE a = CAST('1' AS INTEGER) GROUP BY b",
      "SELECT b, c FROM %s WHERE a = CAST('1' AS INTEGER) ORDER BY b, c LIMIT 2",
      "SELECT DISTINCT b FROM %s WHERE a = CAST('1' AS INTEGER)",
      "SELECT min(b), max(b) FROM %s WHERE a = CAST('1' AS INTEGER)",
      "SELECT o.i, x.b, count(*) FROM o JOIN %s AS x ON x.a = o.i GROUP BY 1, 2",
      "SELECT o.i FROM o LEFT JOIN %s AS x ON x.a = o.i AND x.b = 1 ORDER BY 1",
      "SELECT o.i FROM o LEFT JOIN %s AS x ON x.a = o.i ORDER BY 1",
  };
  static const char *const of_u[] = {"SELECT o.i FROM o LEFT JOIN %s AS x ON x.k = o.i ORDER BY 1"};
  static const char *const pairs[][2] = {{"s", "t"}, {"j", "t"}, {"v", "u"}};
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
    int is_u = pairs[p][1][0] == 'u';
    size_t count = is_u ? sizeof of_u / sizeof *of_u : sizeof queries / sizeof *queries;
    for (size_t i = 0; i < count; i++) {
      char *sql = sqlite3_mprintf(is_u ? of_u[i] : queries[i], pairs[p][0]);
      char *native = sqlite3_mprintf(is_u ? of_u[i] : queries[i], pairs[p][1]);
      char *given = rows_of(db, sql), *expected = rows_of(db, native);
      if (strcmp(given, expected) != 0) fail_msg("%s: %s instead of %s", sql, given, expected);
      sqlite3_free(expected);
      sqlite3_free(given);
      sqlite3_free(native);
      sqlite3_free(sql);
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Next to a numeric column: as a row value, in the way that docs/limits.md advises. */
static void text_is_compared_with_numbers(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE o(i INTEGER, x TEXT); INSERT INTO o VALUES (5, '5'), (6, '7');"
                    "CREATE TABLE t(a INT, b TEXT, c);"
                    "INSERT INTO t VALUES (5, '05', '5.0'), (5, '5', 5), (6, '6', 6);"
                    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  static const char *const terms[] = {"EXISTS (SELECT 1 FROM o WHERE (b, a) = (i, x))",
                                      "EXISTS (SELECT 1 FROM o WHERE (c, a) = (i, x))",
                                      "b IN (SELECT i FROM o)",

                                      "c IN (SELECT i FROM o)", "(b, a) = (SELECT i, x FROM o)"};
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT group_concat(b) FROM t WHERE %s", terms[i]);
    const char *expected = database_text(db, sql);
    snprintf(sql, sizeof sql, "SELECT group_concat(b) FROM s WHERE %s", terms[i]);
    assert_answer(db, sql, expected);
    assert_string_not_equal(expected, "");
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** SQLite turns the beginning of a pattern into a range, in which there can only be text. Unless
** SQLite was compiled with LIKE_DOESNT_MATCH_BLOBS, blobs can still be LIKE the pattern.
*/
static void patterns_find_what_they_find_in_the_table(void **state) {
  (void)state;
  static const char *const sources[] = {
      "t(k INTEGER PRIMARY KEY, x, y BLOB, z TEXT, n TEXT COLLATE NOCASE, i INT)",
      "t(k INTEGER, x, y BLOB, z TEXT PRIMARY KEY, n TEXT COLLATE NOCASE, i INT) WITHOUT ROWID",
      "t(k INTEGER, x, y BLOB PRIMARY KEY, z TEXT, n TEXT COLLATE NOCASE, i INT) WITHOUT ROWID",
      ("t(k INTEGER, x, y BLOB, z TEXT, n TEXT COLLATE NOCASE, i INT, PRIMARY KEY (x, z))"
       " WITHOUT ROWID")};
  static const char *const tables[] = {"byte_key_scan(t)", "byte_key_scan(t)",
                                       "byte_key_scan(t, key(byte_key(y)))", "byte_key_scan(t)"};
  static const char *const rows[] = {
      ("(1, 'ab', 'ab', 'ab', 'ab', 'ab'), (2, 'b', 'b', 'b', 'b', 'b'),"
       "(3, 'AB', 'AB', 'AB', 'AB', 'AB')"),
      ("(4, x'6162', x'6162', x'6162', x'6162', x'6162'),"
       "(5, x'4142', x'4142', x'4142', x'4142', x'4142')")};
  static const char *const terms[] = {"%s GLOB 'a*'",
                                      "%s GLOB 'a?'",
                                      "%s LIKE 'a%%'",
                                      "%s LIKE 'a%%' ESCAPE '!'",
                                      "%s COLLATE BINARY GLOB 'a*'",
                                      "%s COLLATE BINARY LIKE 'a%%'",
                                      "like('a%%', %s, '!')",
                                      "%s >= 'a' AND %s < 'b'",
                                      "%s >= 'A' AND %s < 'b' COLLATE NOCASE",
                                      "x = 'ab' AND %s GLOB 'a*'"};
  static const char columns[] = "xyzni";
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    char sql[400];
    snprintf(sql, sizeof sql, "CREATE TABLE %s; CREATE VIRTUAL TABLE temp.s USING %s", sources[i],
             tables[i]);
    database_must(db, sql);
    for (int step = 0; step < 4; step++) {
      /* Without blobs, with them, and both with LIKE as it can be switched. */
      if (step % 2 == 0) {
        snprintf(sql, sizeof sql, "INSERT INTO t VALUES %s", rows[step / 2]);
        database_must(db, sql);
      }
      database_must(db, step % 2 == 0 ? "PRAGMA case_sensitive_like = OFF"
                                      : "PRAGMA case_sensitive_like = ON");
      for (size_t j = 0; j < sizeof terms / sizeof *terms; j++) {
        for (const char *column = columns; *column != '\0'; column++) {
          char name[2] = {*column, '\0'};
          char term[100], query[200], native[200];
          snprintf(term, sizeof term, terms[j], name, name);
          snprintf(query, sizeof query,
                   "SELECT group_concat(k) FROM (SELECT k FROM s WHERE %s "
                   "ORDER BY +k)",
                   term);
          snprintf(native, sizeof native,
                   "SELECT group_concat(k) FROM (SELECT k FROM t WHERE %s "
                   "ORDER BY +k)",
                   term);
          const char *expected = database_text(db, native);
          const char *answer = database_text(db, query);
          if (strcmp(answer, expected) != 0)
            fail_msg("%s: '%s' and not '%s'", query, answer, expected);
        }
      }
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* A failing statement of the caller's leaves the scan's tracker where it was, and usable. */
static void the_callers_statement_fails(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(
      db,
      "CREATE TABLE t(id INTEGER PRIMARY KEY);"
      "INSERT INTO t SELECT value FROM counting_input(20);"
      "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t); CREATE TABLE o(id INT CHECK (id <> 7))");
  assert_int_equal(
      sqlite3_exec(db, "INSERT INTO o SELECT id FROM s WHERE tracker = 'w'", NULL, NULL, NULL),
      SQLITE_CONSTRAINT_CHECK);
  assert_answer(db, "SELECT hex(last_claimed) FROM range_trackers", "8000000000000007");
  database_must(db, "INSERT INTO o SELECT id FROM s WHERE tracker = 'w'");
  assert_answer(db, "SELECT min(id) || ' ' || count(*) FROM o", "8 12");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_is_filled_from_itself),
      cmocka_unit_test(a_row_that_is_rewritten_in_its_place_comes_once),
      cmocka_unit_test(rows_that_a_loop_rewrites_come_once),
      cmocka_unit_test(a_table_is_filled_from_itself_by_name),
      cmocka_unit_test(an_inner_loop_meets_no_row_of_its_statement),
      cmocka_unit_test(outer_joins_keep_their_rows),
      cmocka_unit_test(several_keys_equal_one_number),
      cmocka_unit_test(text_is_compared_with_numbers),
      cmocka_unit_test(patterns_find_what_they_find_in_the_table),
      cmocka_unit_test(the_callers_statement_fails),
  };
  return cmocka_run_group_tests_name("byte_key_scan in statements", tests, NULL, NULL);
}
