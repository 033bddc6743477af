/*
** Trackers and other arguments in every shape of WHERE clause that SQLite may not plan as one scan.
** No row may be lost without an error: each query must give what the same terms give without a
** tracker, or the named error.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

/* Terms next to tracker = 'n', over columns id, a, b of t. */
static const char *const terms[] = {
    "(id = 3 OR id = 5)",
    "(id < 3 OR id > 990)",
    "(id BETWEEN 3 AND 5 OR id BETWEEN 900 AND 901)",
    "(id = 3 OR a = 7)",
    "(a = 3 OR a = 7 OR b = 9)",
    "(a = 3 AND b = 3 OR id = 7 AND b = 0)",
    "(id = 3 OR a IN (7, 8))",
    "(id IN (3, 5, 7) OR id = 11)",
    "(byte_key = byte_key(3) OR id = 5)",
    "(id = 3 OR b IS NULL)",
    "(id = 1 OR id = 2 OR id = 3 OR id = 4 OR id = 5 OR a = 6 OR a = 7)",
    "id > 900 AND (a = 907 OR b = 3)",
};

static const char *const sources[] = {
    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)",
    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, key(a))",
    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(w)",
    "CREATE VIRTUAL TABLE temp.s USING scan_job(t)",
};

/* The hidden columns come after the 64th, and SQLite does not say which of those are used. */
static void in_a_wide_table_too(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "CREATE TABLE wide(id INTEGER PRIMARY KEY");
  for (int i = 0; i < 100; i++) sqlite3_str_appendf(sql, ", c%d DEFAULT 1", i);
  sqlite3_str_appendall(sql, "); INSERT INTO wide(id) SELECT value FROM counting_input(1000);"
                             "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(wide)");
  char *text = sqlite3_str_finish(sql);
  database_must(db, text);
  sqlite3_free(text);
  assert_string_equal(database_text(db, "SELECT group_concat(id) FROM s WHERE tracker = 'n' AND "
                                        "(id = 3 OR id > 998)"),
                      "3,999");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static sqlite3 *open_tables(void) {
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER NOT NULL UNIQUE, b);"
                    "INSERT INTO t SELECT value, value, nullif(value % 10, 4) "
                    "FROM counting_input(1000);"
                    "CREATE INDEX by_b ON t(b);"
                    "CREATE TABLE w(id INTEGER PRIMARY KEY, a, b) WITHOUT ROWID;"
                    "INSERT INTO w SELECT * FROM t");
  return db;
}

static void assert_same(sqlite3 *db, const char *query, const char *plain) {
  char expected[4000];
  snprintf(expected, sizeof expected, "%s", database_text(db, plain));
  const char *answer = database_text(db, query);
  int is_refused = strstr(query, "tracker = 'b'") != NULL && strncmp(answer, "error", 5) == 0;
  if (strcmp(answer, expected) != 0 && !is_refused) {
    fail_msg("%s:\n%s\ninstead of\n%s", query, answer, expected);
  }
  database_run(db, "SELECT tracker_close(name) FROM range_trackers");
}

static void an_or_beside_a_tracker_is_one_scan(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    for (int analyzed = 0; analyzed < 2; analyzed++) {
      sqlite3 *db = open_tables();
      database_must(db, sources[i]);
      if (analyzed) database_must(db, "ANALYZE");
      for (size_t j = 0; j < sizeof terms / sizeof terms[0]; j++) {
        char query[400], plain[400];
        for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
          const char *order = is_ordered ? " ORDER BY b, id LIMIT 3" : " LIMIT -1";
          snprintf(query, sizeof query,
                   "SELECT group_concat(id) FROM (SELECT id FROM (SELECT id FROM s "
                   "WHERE tracker = 'n' AND %s%s) ORDER BY id)",
                   terms[j], order);
          snprintf(plain, sizeof plain,
                   "SELECT group_concat(id) FROM (SELECT id FROM (SELECT id FROM s "
                   "WHERE +id >= 0 AND %s%s) ORDER BY id)",
                   terms[j], order);
          assert_same(db, query, plain);
        }
      }
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
  }
}

static void numbers_and_rows_as_json_too(void **state) {
  (void)state;
  static const struct {
    const char *query;
    const char *plain;
  } cases[] = {
      {"SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'n' AND "
       "(value = 3 OR value = 5)",
       "SELECT '3,5'"},
      {"SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'n' AND "
       "(value < 2 OR value > 7)",
       "SELECT '0,1,8,9'"},
      {"SELECT group_concat(value) FROM counting_input WHERE up_to = 10 AND tracker = 'n' AND "
       "(value IN (3, 4) OR value >= 9)",
       "SELECT '3,4,9'"},
      {"SELECT group_concat(value) FROM counting_input(10) WHERE tracker = 'n' AND "
       "(value = 3 OR value % 4 = 0 OR rowid = 5)",
       "SELECT '0,3,4,5,8'"},
      {"SELECT group_concat(row) FROM byte_key_scan('t', 'id', 'id') WHERE tracker = 'n' AND "
       "(byte_key = x'8000000000000003' OR byte_key = x'8000000000000005')",
       "SELECT '{\"id\":3},{\"id\":5}'"},
      {"SELECT group_concat(row) FROM byte_key_scan('t', 'id', 'id') WHERE tracker = 'n' AND "
       "(byte_key < x'8000000000000001' OR byte_key > x'80000000000003e6')",
       "SELECT '{\"id\":0},{\"id\":999}'"},
      /* A tracker in each branch. Newer releases use one cursor for both, which is refused. */
      {"SELECT group_concat(id) FROM s WHERE (tracker = 'a' AND id = 3) OR "
       "(tracker = 'b' AND id = 7)",
       "SELECT '3,7'"},
      {"SELECT group_concat(value) FROM counting_input(10) WHERE (tracker = 'a' AND value = 3) OR "
       "(tracker = 'b' AND value = 7)",
       "SELECT '3,7'"},
      {"SELECT count(*) FROM s WHERE "
       "(restriction = byte_key_range(byte_key(1), byte_key(3)) AND b > 0) OR "
       "(restriction = byte_key_range(byte_key(3), byte_key(5)) AND b >= 0)",
       "SELECT count(*) FROM s WHERE (restriction = byte_key_range(byte_key(1), byte_key(3)) AND "
       "b > 0) OR (restriction = byte_key_range(byte_key(3), byte_key(5)) AND b >= 0)"},
      {"SELECT count(*) FROM byte_key_scan('t') WHERE (tracker = 'a' AND byte_key < x'8001') OR "
       "(tracker = 'b' AND byte_key >= x'8001')",
       "SELECT 1000"},
      {"SELECT count(*) || typeof(max(tracker)) FROM s", "SELECT '1000null'"},
      {"SELECT count(*) FROM s WHERE restriction IN "
       "(SELECT restriction FROM range_split('{\"start\":\"\",\"end\":\"\"}', 4))",
       "SELECT 1000"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sqlite3 *db = open_tables();
    database_must(db, sources[0]);
    assert_same(db, cases[i].query, cases[i].plain);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* Their arguments outside of an OR, in each side of one, and read back. */
static void table_functions_too(void **state) {
  (void)state;
#define RANGE "'{\"from\":0,\"to\":100}'"
  static const struct {
    const char *query;
    const char *answer;
  } cases[] = {
      {"SELECT group_concat(ordinal) FROM range_split(" RANGE
       ", 4) WHERE ordinal = 0 OR ordinal > 2",
       "0,3"},
      {"SELECT group_concat(ordinal) FROM range_split(" RANGE ", 4) WHERE ordinal < 1 OR "
       "restriction = '{\"from\":25,\"to\":50}'",
       "0,1"},
      {"SELECT group_concat(value) FROM byte_key_values(byte_key(5, 6, 7)) "
       "WHERE ordinal = 0 OR value = 7",
       "5,7"},
      {"SELECT count(*) FROM range_split WHERE (range = " RANGE " AND n = 4) OR "
       "(range = " RANGE " AND n = 2)",
       "6"},
      {"SELECT count(*) FROM range_split WHERE (range = " RANGE " AND n = 4) OR "
       "(range = " RANGE " AND n = 4.0 AND ordinal < 2)",
       "4"},
      {"SELECT group_concat(value) FROM byte_key_values WHERE (key = byte_key(5) AND ordinal = 0) "
       "OR "
       "(key = byte_key(6) AND ordinal < 1)",
       "5,6"},
      {"SELECT count(*) FROM range_split WHERE range = " RANGE " AND (n = 4 OR n = 2)", "6"},
      {"SELECT count(*) FROM t JOIN range_split(" RANGE ", 4) WHERE ordinal = a OR ordinal = a + 1",
       "7"},
      {"SELECT max(range) || max(n) FROM range_split(" RANGE ", 4)", "{\"from\":0,\"to\":100}4"},
      {"SELECT count(*) FROM range_split(NULL, 4)", "0"},
      {"SELECT count(*) FROM range_split(" RANGE ") WHERE ordinal = 0 OR ordinal = 1",
       "error: range_split(): argument n is missing"},
      {"SELECT count(*) FROM range_split", "error: range_split(): argument range is missing"},
  };
  sqlite3 *db = open_tables();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *answer = database_text(db, cases[i].query);
    if (strcmp(answer, cases[i].answer) != 0) fail_msg("%s: %s", cases[i].query, answer);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** Arguments within the sides of an OR, and some outside of it. Each side is a scan of its own, with
** the arguments of both places. A row that two sides return with different arguments counts as two
** rows, except in counting_input, where a row is its number.
*/
static void an_or_over_arguments_is_a_scan_for_each(void **state) {
  (void)state;
#define ROWS(columns) "SELECT group_concat(row, ' ') FROM byte_key_scan" columns
#define VALUES(columns) "SELECT group_concat(value, ' ') FROM group_by_fields" columns
  static const struct {
    const char *query;
    const char *answer;
  } cases[] = {
      {ROWS("('p') WHERE columns = 'a' OR columns = 'b'"),
       "{\"a\":1} {\"a\":2} {\"b\":10} {\"b\":20}"},
      {ROWS(" WHERE (source = 'p' AND columns = 'a') OR (source = 'p' AND columns = 'b')"),
       "{\"a\":1} {\"a\":2} {\"b\":10} {\"b\":20}"},
      {ROWS(" WHERE (source = 'p' AND columns = 'a') OR (source = 'q' AND columns = 'b')"),
       "{\"a\":1} {\"a\":2} {\"b\":70}"},
      {ROWS(" WHERE (source = 'p' AND columns = 'a') OR source = 'q'"),
       "{\"a\":1} {\"a\":2} {\"id\":1,\"a\":7,\"b\":70}"},
      {ROWS("('p') WHERE columns = 'a' OR where_terms = 'b > 10'"),
       "{\"a\":1} {\"a\":2} {\"id\":2,\"a\":2,\"b\":20}"},
      {ROWS("('p', 'id') WHERE (columns = 'a' AND where_terms = 'b = 10') OR "
            "(columns = 'b' AND where_terms = 'b = 20')"),
       "{\"a\":1} {\"b\":20}"},
      {ROWS(" WHERE source = 'p' AND ((columns = 'a' AND where_terms = 'b = 10') OR "
            "(columns = 'b' AND where_terms = 'b = 10'))"),
       "{\"a\":1} {\"b\":10}"},
      {ROWS("('p', 'id', 'a') WHERE where_terms = 'b = 10' OR (where_terms = 'b < 30' AND "
            "byte_key > x'80')"),
       "{\"a\":1} {\"a\":1} {\"a\":2}"},
      {"SELECT count(*) FROM (SELECT DISTINCT byte_key FROM byte_key_scan WHERE source IN ('p', "
       "'q'))",
       "2"},
      {VALUES(" WHERE (source = 'p' AND by = 'a' AND aggregates = 'sum(b)') OR "
              "(source = 'q' AND by = 'a' AND aggregates = 'sum(a)')"),
       "{\"sum(b)\":10} {\"sum(b)\":20} {\"sum(a)\":7}"},
      {VALUES("('p', 'a') WHERE (aggregates = 'sum(b)' AND where_terms = 'b > 10') OR "
              "aggregates = 'sum(a)'"),
       "{\"sum(b)\":20} {\"sum(a)\":1} {\"sum(a)\":2}"},
      {VALUES("('p', 'a', 'sum(b)') WHERE (where_terms = 'b > 10' AND workers = 1) OR "
              "(where_terms = 'b = 10' AND workers = 1)"),
       "{\"sum(b)\":20} {\"sum(b)\":10}"},
      {"SELECT group_concat(value) FROM counting_input(5) WHERE (start = 1 AND step = 2) OR "
       "(start = 0 AND step = 3)",
       "1,3,0"},
      {"SELECT group_concat(value) FROM counting_input(5) WHERE start = 3 OR step = 3", "3,4,0"},
      {"SELECT group_concat(value) FROM counting_input(9, 0, 2) WHERE "
       "(max_records = 3 AND value > 2) OR (max_records = 2 AND value < 2)",
       "4,0"},
      {"SELECT group_concat(ordinal) FROM range_split('{\"from\":0,\"to\":9}') WHERE "
       "(n = 2 AND ordinal = 0) OR (n = 3 AND ordinal = 2)",
       "0,2"},
      {"SELECT group_concat(row, ' ') FROM (SELECT 'p' AS name UNION ALL SELECT 'q') AS o "
       "JOIN byte_key_scan(o.name) WHERE (columns = 'a' AND where_terms = 'b > 10') OR "
       "(columns = 'b' AND where_terms = 'b = 10')",
       "{\"a\":2} {\"b\":10} {\"a\":7}"},
      {"SELECT group_concat(value) FROM p JOIN counting_input(p.b) WHERE (start = 8 AND step = 1) "
       "OR "
       "(start = 1 AND step = 9)",
       "8,9,1,8,9,10,11,12,13,14,15,16,17,18,19,1"},
      {"SELECT group_concat(ordinal) FROM scan_splits('p') WHERE (n = 2 AND ordinal = 0) OR "
       "(n = 1 AND ordinal = 0)",
       "0,0"},
      {"SELECT group_concat(ordinal) FROM scan_splits('p', 2) WHERE (key = 'id' AND ordinal = 0) "
       "OR "
       "(key = 'id' AND ordinal = 1)",
       "0,1"},
  };
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE p(id INTEGER PRIMARY KEY, a, b);"
                    "INSERT INTO p VALUES (1, 1, 10), (2, 2, 20);"
                    "CREATE TABLE q(id INTEGER PRIMARY KEY, a, b);"
                    "INSERT INTO q VALUES (1, 7, 70)");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *answer = database_text(db, cases[i].query);
    if (strcmp(answer, cases[i].answer) != 0) fail_msg("%s: %s", cases[i].query, answer);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What can only be a mistake, and claims nothing. */
static void arguments_are_given_by_equals(void **state) {
  (void)state;
  static const struct {
    const char *query;
    const char *error;
    int version; /* of the oldest host that can tell */
  } cases[] = {
      {"SELECT count(*) FROM s WHERE tracker IN ('p', 'q')", "tracker takes one name", 3038000},
      {"SELECT count(*) FROM s WHERE tracker = 'p' OR tracker = 'q'", "takes one name", 3038000},
      {"SELECT count(*) FROM s WHERE tracker IN (SELECT 'p' UNION SELECT 'q')", "takes one name",
       3038000},
      {"SELECT count(*) FROM counting_input(9) WHERE tracker IN ('p', 'q')", "takes one name",
       3038000},
      {"SELECT count(*) FROM byte_key_scan('t') WHERE tracker IN ('p', 'q')", "takes one name",
       3038000},
      {"SELECT count(*) FROM s WHERE tracker > 'p'", "tracker is given by =, not by >", 0},
      {"SELECT count(*) FROM s WHERE tracker LIKE 'p%'", "tracker is given by =, not by", 0},
      {"SELECT count(*) FROM s WHERE tracker IS 'p'", "tracker is given by =, not by IS", 0},
      {"SELECT count(*) FROM s WHERE restriction <> 'p'", "restriction is given by =, not by <>",
       0},
      {"SELECT value FROM counting_input WHERE up_to < 3", "up_to is given by =, not by <", 0},
      {"SELECT value FROM counting_input WHERE up_to <= 3", "up_to is given by =, not by <=", 0},
      {"SELECT value FROM counting_input(3) WHERE rate > 3", "rate is given by =, not by >", 0},
      {"SELECT value FROM counting_input WHERE up_to BETWEEN 1 AND 3", "up_to is given by =", 0},
      {"SELECT value FROM t JOIN counting_input ON up_to < t.id", "up_to is given by =", 0},
      {"SELECT * FROM byte_key_scan('t') WHERE where_terms LIKE 'x'", "where_terms is given by", 0},
      {"SELECT * FROM group_by_fields('t', 'a') WHERE workers > 1", "workers is given by =", 0},
  };
  sqlite3 *db = open_tables();
  database_must(db, sources[0]);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (sqlite3_libversion_number() < cases[i].version) continue;
    const char *answer = database_text(db, cases[i].query);
    if (strncmp(answer, "error", 5) != 0 || strstr(answer, cases[i].error) == NULL) {
      fail_msg("%s: %s", cases[i].query, answer);
    }
    assert_int_equal(database_integer(db, "SELECT count(*) FROM range_trackers"), 0);
  }
  /* What is given may be compared as well. */
  assert_int_equal(database_integer(db, "SELECT count(*) FROM counting_input(9) WHERE up_to < 10"),
                   9);
  assert_int_equal(
      database_integer(db, "SELECT count(*) FROM s WHERE tracker = 'n' AND tracker > 'm'"), 1000);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** An argument from a table that the query puts after the scan for good. SQLite does not show the
** scan that there is such a term, and a query that only reads the column looks the same to it. So
** the scan runs without the argument, and the term filters the rows, as docs/limits.md says. Should
** SQLite ever show it, these answers become those of the same tables in the other order, or an
** error.
*/
static void a_fixed_join_order_loses_arguments(void **state) {
  (void)state;
  static const struct {
    const char *query;
    const char *answer;
    const char *other_order;
    const char *other_answer;
  } cases[] = {
      {"SELECT count(*) FROM s CROSS JOIN parts ON s.restriction = parts.restriction", "0",
       "SELECT count(*) FROM parts CROSS JOIN s ON s.restriction = parts.restriction", "1000"},
      {"SELECT count(*) || ',' || count(ordinal) FROM s LEFT JOIN parts "
       "ON s.restriction = parts.restriction",
       "1000,0",
       "SELECT count(*) || ',' || count(id) FROM parts LEFT JOIN s "
       "ON s.restriction = parts.restriction",
       "1000,1000"},
      {"SELECT count(*) FROM byte_key_scan('t', 'id', 'id', 'id < ' || number) CROSS JOIN numbers",
       "0",
       "SELECT count(*) FROM numbers CROSS JOIN byte_key_scan('t', 'id', 'id', 'id < ' || number)",
       "3"},
      /* Without a step it is 1, and that is what the column says. */
      {"SELECT count(*) FROM counting_input(6, 0, number) CROSS JOIN numbers", "6",
       "SELECT count(*) FROM numbers CROSS JOIN counting_input(6, 0, number)", "9"},
      {"SELECT count(*) FROM range_split('{\"from\":0,\"to\":9}', number) CROSS JOIN numbers",
       "error: range_split(): argument n is missing",
       "SELECT count(*) FROM numbers CROSS JOIN range_split('{\"from\":0,\"to\":9}', number)", "3"},
  };
  /* A byte_key_scan and a scan_job. */
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i += 3) {
    sqlite3 *db = open_tables();
    database_must(db, sources[i]);
    database_must(db, "CREATE TABLE parts AS SELECT * FROM scan_splits('t', 2);"
                      "CREATE TABLE numbers AS SELECT 1 AS number UNION SELECT 2");
    for (size_t j = 0; j < sizeof cases / sizeof cases[0]; j++) {
      const char *answer = database_text(db, cases[j].query);
      if (strcmp(answer, cases[j].answer) != 0) fail_msg("%s: %s", cases[j].query, answer);
      answer = database_text(db, cases[j].other_order);
      if (strcmp(answer, cases[j].other_answer) != 0) {
        fail_msg("%s: %s", cases[j].other_order, answer);
      }
    }
    /* Where the order is SQLite's to choose, it is the one that has the argument. */
    assert_int_equal(database_integer(db, "SELECT count(*) FROM s JOIN parts USING (restriction)"),
                     1000);
    assert_int_equal(
        database_integer(db, "SELECT count(*) FROM counting_input(6, 0, number) JOIN numbers"), 9);
    /* And this is why there is no error: an argument that is not given may be looked at. */
    assert_int_equal(database_integer(db, "SELECT count(*) FROM s WHERE restriction IS NULL"),
                     1000);
    assert_int_equal(database_integer(db, "SELECT sum(step) FROM counting_input(6)"), 6);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_or_beside_a_tracker_is_one_scan),
      cmocka_unit_test(in_a_wide_table_too),
      cmocka_unit_test(numbers_and_rows_as_json_too),
      cmocka_unit_test(table_functions_too),
      cmocka_unit_test(an_or_over_arguments_is_a_scan_for_each),
      cmocka_unit_test(arguments_are_given_by_equals),
      cmocka_unit_test(a_fixed_join_order_loses_arguments),
  };
  return cmocka_run_group_tests_name("hidden arguments", tests, NULL, NULL);
}
