/*
** Combine functions in SQL against what SQLite computes by other means: its own aggregates if it
** has them, ORDER BY with LIMIT for rankings, a query for each row for windows. Also what concerns
** the host: encodings, names that are taken, flags, memory.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "effort.h"
#include "tranche.h"

static sqlite3 *open_db(void) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  return db;
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

/* The first row, its columns with their types between bars, or the error's text. */
static char *ask(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  sqlite3_str *answer = sqlite3_str_new(db);
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    sqlite3_str_appendall(answer, sqlite3_errmsg(db));
    return sqlite3_str_finish(answer);
  }
  int rc = sqlite3_step(stmt);
  for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(stmt); i++) {
    static const char *const types[] = {"", "INTEGER ", "REAL ", "TEXT ", "BLOB ", "NULL"};
    const char *bar = i > 0 ? "|" : "";
    int type = sqlite3_column_type(stmt, i);
    sqlite3_str_appendf(answer, "%s%s", bar, types[type]);
    if (type == SQLITE_FLOAT) {
      char text[40];
      snprintf(text, sizeof text, "%.17g", sqlite3_column_double(stmt, i));
      sqlite3_str_appendall(answer, text);
    } else if (type != SQLITE_NULL) {
      sqlite3_str_appendall(answer, (const char *)sqlite3_column_text(stmt, i));
    }
  }
  if (rc == SQLITE_DONE) sqlite3_str_appendall(answer, "no row");
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) sqlite3_str_appendall(answer, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  return sqlite3_str_finish(answer);
}

static void assert_answer(sqlite3 *db, const char *sql, const char *expected) {
  char *answer = ask(db, sql);
  if (answer == NULL || strcmp(answer, expected) != 0) {
    fail_msg("%s\n  gives    %s\n  expected %s", sql, answer, expected);
  }
  sqlite3_free(answer);
}

/* Both queries give the same rows in the same order. */
static void assert_same_rows(sqlite3 *db, const char *ours, const char *theirs) {
  char *sql = sqlite3_mprintf(
      "SELECT count(*), sum(o.row IS NOT t.row OR typeof(o.row) IS NOT typeof(t.row)) FROM"
      " (SELECT row_number() OVER () AS i, * FROM (%s)) AS o FULL JOIN"
      " (SELECT row_number() OVER () AS i, * FROM (%s)) AS t USING (i)",
      ours, theirs);
  char *answer = ask(db, sql);
  int rows = 0, different = -1;
  if (answer == NULL || sscanf(answer, "INTEGER %d|INTEGER %d", &rows, &different) != 2 ||
      rows == 0 || different != 0) {
    fail_msg("%s\n  is not   %s\n  %s", ours, theirs, answer);
  }
  sqlite3_free(answer);
  sqlite3_free(sql);
}

/*
** A table whose sums do not depend on the order of additions: integers, quarters that are exact in
** a double, NULLs, and text and BLOBs that spell numbers or do not.
*/
static void make_table(sqlite3 *db, int seed) {
  char *sql = sqlite3_mprintf(
      "DROP TABLE IF EXISTS t;"
      "CREATE TABLE t(i INTEGER PRIMARY KEY, g, x, k, r);"
      "INSERT INTO t WITH RECURSIVE n(i, s) AS (SELECT 1, %d UNION ALL"
      "  SELECT i + 1, (s * 1103515245 + 12345) %% 2147483648 FROM n WHERE i < 200)"
      "SELECT i, s / 64 %% 4, CASE s / 256 %% 8 WHEN 0 THEN NULL WHEN 1 THEN s / 4096 %% 100 / 4.0"
      "  WHEN 2 THEN '' || (s / 4096 %% 100) WHEN 3 THEN (s / 4096 %% 9) || 'th'"
      "  WHEN 4 THEN CAST(s / 4096 %% 50 || '.5' AS BLOB) ELSE s / 4096 %% 1000 - 500 END,"
      "  nullif(s / 65536 %% 10, 3), (s %% 1000003 - 500000) * 1.1 FROM n;",
      seed);
  run(db, sql);
  sqlite3_free(sql);
}

static void built_in_aggregates_agree(void **state) {
  (void)state;
  static const char *const names[] = {"count", "sum", "min", "max"};
  sqlite3 *db = open_db();
  for (int seed = 1; seed <= test_effort(40); seed++) {
    make_table(db, seed);
    for (int i = 0; i < 4; i++) {
      char *ours = sqlite3_mprintf(
          "SELECT extract_output(%s_accumulator(x)) AS row FROM t GROUP BY g, k > 4", names[i]);
      char *theirs = sqlite3_mprintf("SELECT %s(x) AS row FROM t GROUP BY g, k > 4", names[i]);
      assert_same_rows(db, ours, theirs);
      sqlite3_free(ours);
      sqlite3_free(theirs);
    }
    assert_same_rows(db, "SELECT extract_output(count_accumulator()) AS row FROM t GROUP BY k",
                     "SELECT count(*) AS row FROM t GROUP BY k");
    assert_same_rows(db, "SELECT extract_output(sum_accumulator(DISTINCT x)) AS row FROM t",
                     "SELECT sum(DISTINCT x) AS row FROM t");
    assert_same_rows(
        db,
        "SELECT extract_output(sum_accumulator(x) FILTER (WHERE k > 5)) AS row FROM t GROUP BY g",
        "SELECT sum(x) FILTER (WHERE k > 5) AS row FROM t GROUP BY g");
  }
  sqlite3_close(db);
}

static void rankings_are_what_order_by_gives(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  for (int seed = 1; seed <= test_effort(40); seed++) {
    make_table(db, seed);
    run(db, "UPDATE t SET x = hex(x) WHERE typeof(x) = 'blob'");
    /* The order of equal values: 1 before 1.0. Backwards for the largest. */
    assert_same_rows(
        db, "SELECT top_largest(x, 7) AS row FROM t GROUP BY g ORDER BY g",
        "SELECT (SELECT json_group_array(x) FROM (SELECT x FROM t WHERE g = o.g AND x IS NOT NULL"
        " ORDER BY x DESC, typeof(x) DESC LIMIT 7)) AS row FROM t AS o GROUP BY g ORDER BY g");
    assert_same_rows(
        db, "SELECT top_smallest(x, 7) AS row FROM t GROUP BY g ORDER BY g",
        "SELECT (SELECT json_group_array(x) FROM (SELECT x FROM t WHERE g = o.g AND x IS NOT NULL"
        " ORDER BY x, typeof(x) LIMIT 7)) AS row FROM t AS o GROUP BY g ORDER BY g");
    assert_same_rows(db, "SELECT max_by(x, k) AS row FROM t GROUP BY g ORDER BY g",
                     "SELECT (SELECT x FROM t WHERE g = o.g AND k IS NOT NULL"
                     " ORDER BY k DESC, x DESC, typeof(x) DESC LIMIT 1) AS row FROM t AS o GROUP "
                     "BY g ORDER BY g");
    assert_same_rows(
        db, "SELECT min_by(x, k, 4) AS row FROM t GROUP BY g ORDER BY g",
        "SELECT (SELECT json_group_array(x) FROM (SELECT x FROM t WHERE g = o.g AND k IS NOT NULL"
        " ORDER BY k, x, typeof(x) LIMIT 4)) AS row FROM t AS o GROUP BY g ORDER BY g");
  }
  sqlite3_close(db);
}

/* Rows leave a frame in their order. Each frame gives what a query over just its rows gives. */
static void windows_are_what_their_rows_give(void **state) {
  (void)state;
  static const char *const functions[] = {"mean", "var_pop", "var_samp", "stddev_pop",
                                          "stddev_samp"};
  sqlite3 *db = open_db();
  for (int seed = 1; seed <= test_effort(10); seed++) {
    make_table(db, seed);
    run(db, "UPDATE t SET r = CASE i % 37 WHEN 0 THEN 9e999 WHEN 5 THEN -9e999 WHEN 9 THEN 1e300"
            " WHEN 11 THEN 5e-324 WHEN 20 THEN NULL ELSE r END");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      char *ours = sqlite3_mprintf(
          "SELECT %s(r) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS row FROM t",
          functions[i]);
      char *theirs = sqlite3_mprintf("SELECT (SELECT %s(r) FROM t WHERE i BETWEEN o.i - 3 AND o.i "
                                     "+ 2) AS row FROM t AS o ORDER BY i",
                                     functions[i]);
      assert_same_rows(db, ours, theirs);
      sqlite3_free(ours);
      sqlite3_free(theirs);
    }
    assert_same_rows(
        db,
        "SELECT bit_xor(k) OVER (PARTITION BY g ORDER BY i ROWS 2 PRECEDING) AS row FROM t ORDER "
        "BY i",
        "SELECT (SELECT bit_xor(k) FROM (SELECT k FROM t WHERE g = o.g AND i <= o.i ORDER BY i DESC"
        " LIMIT 3)) AS row FROM t AS o ORDER BY i");
    assert_same_rows(
        db, "SELECT sum_accumulator(r) OVER (ORDER BY i ROWS 4 PRECEDING) AS row FROM t",
        "SELECT (SELECT sum_accumulator(r) FROM t WHERE i BETWEEN o.i - 4 AND o.i) AS row"
        " FROM t AS o ORDER BY i");
  }
  sqlite3_close(db);
}

static void every_cut_into_days_gives_the_same(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  for (int seed = 1; seed <= test_effort(20); seed++) {
    make_table(db, seed);
    assert_same_rows(db,
                     "SELECT merge_accumulators(a) AS row FROM (SELECT var_samp_accumulator(r) AS "
                     "a FROM t GROUP BY k, x)",
                     "SELECT var_samp_accumulator(r) AS row FROM t");
    assert_same_rows(
        db,
        "SELECT merge_accumulators(a) AS row FROM (SELECT max_by_accumulator(x, k, 5) AS a FROM t "
        "GROUP BY r)",
        "SELECT max_by_accumulator(x, k, 5) AS row FROM (SELECT * FROM t ORDER BY r DESC)");
    assert_same_rows(db,
                     "SELECT merge_accumulators(a) AS row FROM (SELECT sample_accumulator(x, 5, i) "
                     "AS a FROM t GROUP BY k)",
                     "SELECT sample_accumulator(x, 5, i) AS row FROM (SELECT * FROM t ORDER BY r)");
  }
  sqlite3_close(db);
}

static void utf16_databases_work(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  run(db, "PRAGMA encoding = 'UTF-16'");
  run(db, "CREATE TABLE t(x); INSERT INTO t VALUES ('žluť'), ('北京'), ('12'), (''), ('😀')");
  assert_answer(db, "SELECT top_largest(x, 9), mean(x), max_by(x, x) FROM t",
                "TEXT [\"😀\",\"北京\",\"žluť\",\"12\",\"\"]|REAL 2.3999999999999999|TEXT 😀");
  assert_answer(db,
                "SELECT extract_output(merge_accumulators(a)) FROM (SELECT min_accumulator(x) AS a "
                "FROM t WHERE x > '2')",
                "TEXT žluť");
  sqlite3_close(db);
}

static void their_mean(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_text(context, "theirs", -1, SQLITE_STATIC);
}

static void names_that_are_taken_are_left_alone(void **state) {
  (void)state;
  sqlite3 *db;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_create_function(db, "mean", 1, SQLITE_UTF8, NULL, their_mean, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  assert_answer(db, "SELECT mean(1)", "TEXT theirs");
  assert_answer(db, "SELECT tranche_debug() ->> '$.left_alone'", "TEXT [\"mean\"]");
  assert_answer(db, "SELECT extract_output(mean_accumulator(1)), var_pop(1)", "REAL 1|REAL 0");
  /* SQLite's own are never among them: we do not even try. */
  assert_answer(db,
                "SELECT count(*), sum(builtin) FROM pragma_function_list WHERE name IN ('sum', "
                "'count', 'min', 'max')"
                " AND NOT builtin",
                "INTEGER 0|NULL");
  sqlite3_close(db);
}

static void flags_say_what_is_pure(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  /* SQLITE_DETERMINISTIC 0x800, SQLITE_INNOCUOUS 0x200000 */
  assert_answer(
      db,
      "SELECT group_concat(f) FROM (SELECT name || '/' || narg AS f FROM pragma_function_list"
      " WHERE NOT flags & 0x800 AND (name LIKE '%\\_accumulator' ESCAPE '\\' OR name IN "
      "('sample', 'mean', 'top_largest',"
      " 'extract_output', 'merge_accumulators')) ORDER BY f)",
      "TEXT sample/2,sample_accumulator/2");
  assert_answer(
      db,
      "SELECT count(*) FROM pragma_function_list WHERE NOT flags & 0x200000 AND (name LIKE"
      " '%\\_accumulator' ESCAPE '\\' OR name IN ('sample', 'mean', 'extract_output'))",
      "INTEGER 0");
  /*
  ** Without an id each call draws again. That two of a thousand rows agree is out of the question.
  */
  make_table(db, 1);
  assert_answer(db, "SELECT (SELECT sample(i, 50) FROM t) = (SELECT sample(i, 50) FROM t)",
                "INTEGER 0");
  assert_answer(db, "SELECT (SELECT sample(i, 50, i) FROM t) = (SELECT sample(i, 50, i) FROM t)",
                "INTEGER 1");
  sqlite3_close(db);
}

/* The most memory that a statement takes beyond what was there. */
static sqlite3_int64 memory_of(sqlite3 *db, const char *sql) {
  sqlite3_int64 before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  sqlite3_free(ask(db, sql));
  return sqlite3_memory_highwater(0) - before;
}

static void memory_is_bounded_by_what_is_there(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  make_table(db, 1);
  assert_true(memory_of(db, "SELECT top_largest(x, 2147483647), sample(x, 2147483647) FROM t") <
              200000);
  /* A hundred thousand rows through a sample of ten. */
  assert_true(
      memory_of(db,
                "SELECT sample(a.i, 10, a.i), top_smallest(a.r, 10), var_pop(a.r), mean(b.r)"
                " FROM t AS a, t AS b, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)") < 200000);
  /* A BLOB of 24 bytes, with a right checksum, that says that it has 2^31 - 1 values. */
  assert_true(
      memory_of(db, "SELECT extract_output(x'FE545241010E0201FEFFFFFF0FFFFFFFFF070102CA17E0D0')") <
      100000);
  sqlite3_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(built_in_aggregates_agree),
      cmocka_unit_test(rankings_are_what_order_by_gives),
      cmocka_unit_test(windows_are_what_their_rows_give),
      cmocka_unit_test(every_cut_into_days_gives_the_same),
      cmocka_unit_test(utf16_databases_work),
      cmocka_unit_test(names_that_are_taken_are_left_alone),
      cmocka_unit_test(flags_say_what_is_pure),
      cmocka_unit_test(memory_is_bounded_by_what_is_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
