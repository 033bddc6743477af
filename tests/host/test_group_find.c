/*
** Finding a group by its key. A grouping is the inner side of a join, which is compared with a join
** over SQLite's own groups, for keys and values of every affinity, collation and type. And the
** groups are not all walked through for each row of the outer side.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "database.h"
#include "effort.h"
#include "test_random.h"
#include "wide_reals.h"

static sqlite3 *db;
static test_random numbers;

/* The same value in several types, values that look like others, and more. */
static const char *const values[] = {"1",
                                     "1.0",
                                     "'1'",
                                     "'1.0'",
                                     "' 1'",
                                     "x'31'",
                                     "2",
                                     "2.5",
                                     "'2.5'",
                                     "'a'",
                                     "'A'",
                                     "'a '",
                                     "'b'",
                                     "x'61'",
                                     "NULL",
                                     "0",
                                     "-0.0",
                                     "'-0'",
                                     "''",
                                     "x''",
                                     "1e3",
                                     "'1e3'",
                                     "1000",
                                     "'1000'",
                                     "'x1'",
                                     "9007199254740993",
                                     "9007199254740992.0",
                                     "'9007199254740993'"};

static const char *const types[] = {
    "INTEGER", "TEXT", "NUMERIC", "REAL", "BLOB", "", "TEXT COLLATE NOCASE", "COLLATE RTRIM"};
enum { VALUES = sizeof values / sizeof *values, TYPES = sizeof types / sizeof *types };

static const char *random_value(void) {
  for (;;) {
    const char *value = values[test_random_below(&numbers, VALUES)];
    if (is_comparable(value + (value[0] == '\''))) return value;
  }
}

/* A table with a column a<i> of each type, and in each row one of the values in all of them. */
static void make_table(const char *name, int rows) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendf(sql, "CREATE TABLE %s(id INTEGER PRIMARY KEY", name);
  for (int i = 0; i < TYPES; i++) sqlite3_str_appendf(sql, ", a%d %s", i, types[i]);
  sqlite3_str_appendall(sql, ");");
  for (int row = 0; row < rows; row++) {
    sqlite3_str_appendf(sql, "INSERT INTO %s VALUES(%d", name, row);
    for (int i = 0; i < TYPES; i++) {
      sqlite3_str_appendf(sql, ", %s", random_value());
    }
    sqlite3_str_appendall(sql, ");");
  }
  char *text = sqlite3_str_finish(sql);
  database_must(db, text);
  sqlite3_free(text);
}

/*
** Makes the grouping o by one or two keys, and the table `native` of SQLite's groups, whose columns
** have the types of the keys. A key of type TYPES is an expression, which has no type.
*/
static void make_groups(const char *const keys[2], const int key_types[2]) {
  sqlite3_str *sql = sqlite3_str_new(db);
  const char *type = key_types[0] < TYPES ? types[key_types[0]] : "";
  int count = keys[1] == NULL ? 1 : 2;
  sqlite3_str_appendf(
      sql, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(%s AS k", keys[0]);
  if (count == 2) sqlite3_str_appendf(sql, ", %s AS l", keys[1]);
  sqlite3_str_appendf(sql, "), count(*) AS c); CREATE TEMP TABLE native(k %s", type);
  if (count == 2) sqlite3_str_appendf(sql, ", l %s", types[key_types[1]]);
  sqlite3_str_appendf(sql, ", c INT); INSERT INTO native SELECT %s", keys[0]);
  if (count == 2) sqlite3_str_appendf(sql, ", %s", keys[1]);
  sqlite3_str_appendf(sql, ", count(*) FROM s GROUP BY 1%s", count == 2 ? ", 2" : "");
  char *text = sqlite3_str_finish(sql);
  database_must(db, text);
  sqlite3_free(text);
}

static void drop_groups(void) {
  database_must(db, "DROP TABLE o; DROP TABLE native");
}

/*
** What a join gives, in one text. SQLite leaves out a LEFT JOIN of which no column is shown, if it
** is told that there is at most one row to join.
*/
static char *join_text(const char *groups, const char *condition) {
  char *sql =
      sqlite3_mprintf("SELECT (SELECT group_concat(id || ':' || coalesce(c, '-'), ' ') FROM "
                      "(SELECT n.id, g.c FROM n LEFT JOIN %s AS g ON %s ORDER BY n.id, g.c)) || "
                      "(SELECT group_concat(id, ' ') FROM "
                      "(SELECT n.id FROM n LEFT JOIN %s AS g ON %s ORDER BY n.id))",
                      groups, condition, groups, condition);
  char *text = sqlite3_mprintf("%s", database_text(db, sql));
  sqlite3_free(sql);
  return text;
}

static void assert_same_join(const char *key, const char *condition) {
  char *expected = join_text("native", condition), *given = join_text("o", condition);
  if (strcmp(expected, given) != 0)
    fail_msg("k is %s, %s: %s\ninstead of %s", key, condition, given, expected);
  sqlite3_free(expected);
  sqlite3_free(given);
}

/* One key, of a column or an expression, against every column and both ways round. */
static void compare_one_key(const char *key, int type) {
  make_groups((const char *const[2]){key}, (const int[2]){type});
  for (int i = 0; i < TYPES; i++) {
    static const char *const conditions[] = {"g.k = n.a%d", "n.a%d = g.k", "g.k = n.a%d AND c > 1",
                                             "g.k = +n.a%d", "g.k = n.a%d AND g.k = n.a0"};
    for (size_t c = 0; c < sizeof conditions / sizeof *conditions; c++) {
      char condition[100];
      snprintf(condition, sizeof condition, conditions[c], i);
      assert_same_join(key, condition);
    }
  }
  drop_groups();
}

static void one_key_is_found(void **state) {
  (void)state;
  numbers = test_random_begin("one_key_is_found");
  for (int round = 0; round < test_effort(10) + 1; round++) {
    database_must(db, "DROP TABLE IF EXISTS s; DROP TABLE IF EXISTS n");
    make_table("s", 60);
    make_table("n", 40);
    for (int i = 0; i < TYPES; i++) {
      char key[40];
      snprintf(key, sizeof key, "a%d", i);
      compare_one_key(key, i);
    }
    compare_one_key("id / 7", TYPES);
    compare_one_key("substr(a1, 1, 1)", TYPES);
  }
}

static void two_keys_are_found(void **state) {
  (void)state;
  numbers = test_random_begin("two_keys_are_found");
  for (int round = 0; round < test_effort(40) + 1; round++) {
    database_must(db, "DROP TABLE IF EXISTS s; DROP TABLE IF EXISTS n");
    make_table("s", 100);
    make_table("n", 30);
    int chosen[4];
    char names[2][10], condition[100];
    for (int i = 0; i < 4; i++) chosen[i] = (int)test_random_below(&numbers, TYPES);
    for (int i = 0; i < 2; i++) snprintf(names[i], sizeof names[i], "a%d", chosen[i]);
    make_groups((const char *const[2]){names[0], names[1]}, chosen);
    snprintf(condition, sizeof condition, "g.k = n.a%d AND g.l = n.a%d", chosen[2], chosen[3]);
    assert_same_join(names[0], condition);
    snprintf(condition, sizeof condition, "g.l = n.a%d", chosen[3]);
    assert_same_join(names[0], condition);
    drop_groups();
  }
}

/*
** Views whose rows come from several SELECTs, and views of STRICT tables. A condition must lose
** neither a row of a group nor a group. The type of such a view's column differs between releases.
** If it decides, having no group is as right as having the whole one.
*/
static void views_lose_nothing(void **state) {
  (void)state;
  static const struct {
    const char *tables, *query, *answer;
    int may_be_none;
  } cases[] = {
      {"CREATE TABLE m(a INTEGER); INSERT INTO m VALUES(1000), (1000);"
       "CREATE TABLE n(a); INSERT INTO n VALUES(1000), (1000), (1000);"
       "CREATE VIEW s AS SELECT a FROM m UNION ALL SELECT a FROM n",
       "SELECT group_concat(c) FROM o WHERE k = '1000'", "5", 1},
      {"CREATE TABLE m(a); INSERT INTO m VALUES(1000), (1000);"
       "CREATE TABLE n(a INTEGER); INSERT INTO n VALUES(1000), (1000), (1000);"
       "CREATE VIEW s AS SELECT a FROM m UNION ALL SELECT a FROM n",
       "SELECT group_concat(c) FROM o WHERE k < '2'", "5", 1},
      {"CREATE TABLE m(a INTEGER); INSERT INTO m VALUES(1000), (1000);"
       "CREATE TABLE n(a); INSERT INTO n VALUES(1000), (1000), (1000);"
       "CREATE VIEW s AS SELECT a FROM m UNION ALL SELECT a FROM n",
       "SELECT group_concat(c) FROM (SELECT '1000' AS x UNION ALL SELECT '1000') AS v LEFT JOIN o "
       "ON k = v.x",
       "5,5", 1},
      {"CREATE TABLE m(a ANY) STRICT; INSERT INTO m VALUES('1'), ('01'), (1), (1);"
       "CREATE VIEW s AS SELECT a FROM m",
       "SELECT group_concat(c || typeof(k)) FROM (SELECT '01' AS x) AS v LEFT JOIN o ON k = v.x",
       "1text", 0},
      {"CREATE TABLE m(a ANY) STRICT; INSERT INTO m VALUES('1'), ('01'), (1), (1);"
       "CREATE VIEW s AS SELECT a FROM m",
       "SELECT group_concat(c || typeof(k)) FROM (SELECT 1 AS x UNION ALL SELECT 1) AS v LEFT JOIN "
       "o ON k = +v.x",
       "2integer,2integer", 0},
  };
  database_must(db, "DROP TABLE IF EXISTS s; DROP TABLE IF EXISTS n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (strstr(cases[i].tables, "STRICT") != NULL && sqlite3_libversion_number() < 3037000)
      continue;
    database_must(db, cases[i].tables);
    database_must(db,
                  "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(a AS k), "
                  "count(*) AS c)");
    const char *answer = database_text(db, cases[i].query);
    if (!cases[i].may_be_none || answer[0] != '\0') assert_string_equal(answer, cases[i].answer);
    database_must(db, "DROP TABLE o; DROP VIEW s; DROP TABLE m; DROP TABLE IF EXISTS n");
  }
}

/*
** A statement that fills the source from its own groups reads the groups that existed when it
** began.
*/
static void own_rows_are_not_read(void **state) {
  (void)state;
  static const char *const inserts[] = {
      "INSERT INTO s(v, w) SELECT 0, g.c FROM n CROSS JOIN o AS g ON g.k = n.x * 0",
      "INSERT INTO s(v, w) SELECT 0, g.c FROM n CROSS JOIN o AS g ON g.k = 0",
      "INSERT INTO s(v, w) SELECT n.x, g.c FROM n CROSS JOIN o AS g ON g.k < n.x",
      "INSERT INTO by_trigger SELECT g.c FROM n CROSS JOIN o AS g ON g.k = n.x * 0"};
  database_must(db, "CREATE TABLE n(x); INSERT INTO n VALUES(1), (2), (3), (4);"
                    "CREATE TABLE s(id INTEGER PRIMARY KEY, v INT, w INT);"
                    "INSERT INTO s(v) VALUES(0), (0), (0);"
                    "CREATE TABLE by_trigger(c); CREATE TRIGGER t AFTER INSERT ON by_trigger BEGIN "
                    "INSERT INTO s(v, w) VALUES(0, new.c); END;"
                    "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(v AS k), "
                    "count(*) AS c)");
  for (int has_index = 0; has_index < 2; has_index++) {
    if (has_index) database_must(db, "CREATE INDEX s_v ON s(v)");
    for (size_t i = 0; i < sizeof inserts / sizeof *inserts; i++) {
      database_must(db, "BEGIN");
      database_must(db, inserts[i]);
      assert_string_equal(database_text(db, "SELECT group_concat(w) FROM s"), "3,3,3,3");
      database_must(db, "ROLLBACK");
    }
  }
  /* One that writes elsewhere reads no more than it must. */
  database_must(db, "INSERT INTO s(v) VALUES(1), (2), (3)");
  sqlite3_stmt *stmt;
  assert_int_equal(
      sqlite3_prepare_v2(db, "INSERT INTO n SELECT c FROM o WHERE k = ?1", -1, &stmt, NULL),
      SQLITE_OK);
  assert_int_equal(sqlite3_bind_int(stmt, 1, 0), SQLITE_OK);
  assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  assert_int_equal(database_integer(db, "SELECT groups FROM tranche_last_run()"), 1);
  database_must(db, "DROP TABLE o; DROP TABLE s; DROP TABLE n; DROP TABLE by_trigger");
}

/* The steps that SQLite's machine takes for a query. */
static int64_t count_steps(const char *sql) {
  sqlite3_stmt *stmt;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  while (sqlite3_step(stmt) == SQLITE_ROW) continue;
  int64_t steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  return steps;
}

/*
** Each of 2,000 rows takes a few steps, where walking 2,000 groups would take some 20,000. On one
** thread and on several.
*/
static void groups_are_not_walked(void **state) {
  (void)state;
  static const char *const keys[] = {"id", "'t' || id", "id / 1"};
  static const char *const others[] = {"n.id", "'t' || n.id", "n.id"};
  database_must(db, "DROP TABLE IF EXISTS s; DROP TABLE IF EXISTS n");
  database_must(db, "CREATE TABLE n(id INTEGER PRIMARY KEY); INSERT INTO n SELECT value FROM "
                    "counting_input(2000); CREATE TABLE s AS SELECT id FROM n");
  for (int workers = 1; workers <= 3; workers += 2) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
      char sql[300];
      snprintf(sql, sizeof sql,
               "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(%s AS k), "
               "count(*) AS c, workers(%d))",
               keys[i], workers);
      database_must(db, sql);
      snprintf(sql, sizeof sql, "SELECT g.c FROM n CROSS JOIN o AS g WHERE g.k = %s", others[i]);
      assert_in_range(count_steps(sql), 2000, 100000);
      database_must(db, "DROP TABLE o");
    }
  }
}

/* Groups whose rows are late when the first one is asked for. */
static void late_groups_are_found(void **state) {
  (void)state;
  char path[512];
  sqlite3 *memory = db;
  db = database_open(database_path("group_find", path), 10000);
  database_must(db, "CREATE TABLE s(id INTEGER PRIMARY KEY, x INT);"
                    "INSERT INTO s SELECT value, value % 100000 FROM counting_input(200000);"
                    "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(x), "
                    "count(*) AS c, workers(2));"
                    "CREATE TEMP TABLE n AS SELECT value * 977 % 150000 AS x FROM "
                    "counting_input(10000)");
  assert_string_equal(
      database_text(db, "SELECT count(*) || ' ' || sum(c) FROM temp.n CROSS JOIN o USING (x)"),
      database_text(db, "SELECT count(*) || ' ' || (2 * count(*)) FROM temp.n WHERE x < 100000"));
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
  db = memory;
}

static int open_memory(void **state) {
  (void)state;
  db = database_open(":memory:", 0);
  /*
  ** With its Bloom filter, SQLite 3.38 to 3.40 may lose rows whose texts differ in length under
  ** RTRIM.
  */
  database_must(db, "PRAGMA automatic_index = off");
  return 0;
}

static int close_memory(void **state) {
  (void)state;
  return sqlite3_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_key_is_found),      cmocka_unit_test(two_keys_are_found),
      cmocka_unit_test(views_lose_nothing),    cmocka_unit_test(own_rows_are_not_read),
      cmocka_unit_test(groups_are_not_walked), cmocka_unit_test(late_groups_are_found),
  };
  return cmocka_run_group_tests(tests, open_memory, close_memory);
}
