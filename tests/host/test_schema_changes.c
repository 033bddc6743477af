/*
** What happens to our virtual tables when somebody else changes the schema: while they are created,
** and between two uses of them.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

static const char *const tables[] = {
    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, columns(a))",
    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(aux.t, columns(a), where(a > 0))",
    "CREATE VIRTUAL TABLE temp.s USING scan_job(t, columns(a))",
    "CREATE VIRTUAL TABLE temp.s USING group_by_fields(t, by_field_names(a))",
};

typedef struct setting {
  char path[512];
  char aux[512];
  sqlite3 *db;
  sqlite3 *other; /* changes the schema of both files */
  int changes;
} setting;

static void set_up(setting *s) {
  char sql[600];
  memset(s, 0, sizeof *s);
  database_path("schema_changes", s->path);
  database_path("schema_changes_aux", s->aux);
  s->other = database_open(s->path, 0);
  s->db = database_open(s->path, 0);
  snprintf(sql, sizeof sql, "ATTACH '%s' AS aux", s->aux);
  database_must(s->other, sql);
  database_must(s->db, sql);
  database_must(s->other, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 5);"
                          "CREATE TABLE aux.t(id INTEGER PRIMARY KEY, a);"
                          "INSERT INTO aux.t VALUES (1, 5)");
  assert_int_equal(database_integer(s->db, "SELECT count(*) FROM t, aux.t"), 1);
}

static void change(setting *s, const char *schema) {
  char sql[100];
  snprintf(sql, sizeof sql, "CREATE TABLE %s.other_%d(x)", schema, ++s->changes);
  database_must(s->other, sql);
}

static void tear_down(setting *s) {
  assert_int_equal(sqlite3_close(s->other), SQLITE_OK);
  assert_int_equal(sqlite3_close(s->db), SQLITE_OK);
  database_remove(s->path);
  database_remove(s->aux);
}

static void a_table_is_created_over_a_stale_schema(void **state) {
  (void)state;
  static const char *const begins[] = {"SELECT 1", "BEGIN", "SAVEPOINT a"};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    for (size_t j = 0; j < sizeof begins / sizeof begins[0]; j++) {
      for (int k = 0; k < 3; k++) {
        setting s;
        set_up(&s);
        database_must(s.db, begins[j]);
        if (k != 1) change(&s, "main");
        if (k != 0) change(&s, "aux");
        database_must(s.db, tables[i]);
        assert_int_equal(database_integer(s.db, "SELECT a FROM s"), 5);
        if (j == 1) database_must(s.db, "COMMIT");
        if (j == 2) database_must(s.db, "RELEASE a");
        database_must(s.db, "DROP TABLE s");
        tear_down(&s);
      }
    }
  }
}

static void a_table_is_used_over_a_stale_schema(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    setting s;
    set_up(&s);
    database_must(s.db, tables[i]);
    for (int j = 0; j < 2; j++) {
      change(&s, j == 0 ? "main" : "aux");
      assert_int_equal(database_integer(s.db, "SELECT a FROM s"), 5);
    }
    tear_down(&s);
  }
}

/* A statement that reads one of our tables and writes into temp writes nowhere else. */
static void rows_go_into_temp_while_others_write(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    setting s;
    set_up(&s);
    database_must(s.db, tables[i]);
    database_must(s.db, "CREATE TEMP TABLE kept(a)");
    database_must(s.other, "BEGIN IMMEDIATE; DELETE FROM t; DELETE FROM aux.t");
    database_must(s.db, "INSERT INTO kept SELECT a FROM s; CREATE TEMP TABLE z AS SELECT a FROM s");
    assert_int_equal(database_integer(s.db, "SELECT sum(kept.a + z.a) FROM kept, z"), 10);
    database_must(s.other, "ROLLBACK");
    tear_down(&s);
  }
}

/*
** CREATE TEMP TABLE ... AS finds out that the schema is stale while temp has a half-made table and
** cannot be read again. Then all of it is done again.
*/
static void a_temp_table_is_filled_over_a_stale_schema(void **state) {
  (void)state;
  static const struct {
    const char *rows;
    int sum; /* of their first column */
  } fillings[] = {
      {"SELECT a FROM s", 5},
      {"SELECT a FROM s WHERE a > 0 AND rowid = 1", 5},
      {"SELECT a FROM s WHERE tracker = 'w'", 5},
      {"SELECT 5 AS a FROM byte_key_scan('t')", 5},
      {"SELECT value ->> 'count' AS a FROM group_by_fields('t', 'a', 'count(*) AS count')", 1},
      {"SELECT rows AS a FROM scan_splits('t', 3)", 1},
  };
  static const char *const begins[][2] = {{"SELECT 1", "SELECT 1"},
                                          {"BEGIN", "COMMIT"},
                                          {"SAVEPOINT p", "RELEASE p"},
                                          {"BEGIN; CREATE TEMP TABLE kept(a)", "COMMIT"}};
  for (size_t i = 0; i < sizeof fillings / sizeof fillings[0]; i++) {
    for (size_t j = 0; j < sizeof begins / sizeof begins[0]; j++) {
      for (size_t k = 0; k < 2 * sizeof tables / sizeof tables[0]; k++) {
        /* group_by_fields has no rowid column and no tracker. */
        if (i < 3 && i > 0 && k / 2 == 3) continue;
        setting s;
        char sql[300];
        set_up(&s);
        database_must(s.db, tables[k / 2]);
        if (k % 2 == 1) assert_int_equal(database_integer(s.db, "SELECT a FROM s"), 5);
        change(&s, k / 2 == 1 ? "aux" : "main");
        database_must(s.db, begins[j][0]);
        snprintf(sql, sizeof sql, "CREATE TEMP TABLE z AS %s", fillings[i].rows);
        database_must(s.db, sql);
        assert_int_equal(database_integer(s.db, "SELECT sum(a) FROM z"), fillings[i].sum);
        database_must(s.db, begins[j][1]);
        assert_int_equal(database_integer(s.db, "SELECT a FROM s"), 5);
        tear_down(&s);
      }
    }
  }
}

static void a_bundle_goes_into_temp_over_a_stale_schema(void **state) {
  (void)state;
  setting s;
  set_up(&s);
  database_must(s.db, "CREATE VIRTUAL TABLE j USING scan_job(t)");
  change(&s, "main");
  database_must(s.db, "CREATE TEMP TABLE z AS SELECT job_claim('j', 'w', 10, 60) AS bundle");
  assert_int_equal(database_integer(s.db, "SELECT count(bundle) FROM z"), 1);
  assert_int_equal(database_integer(s.db, "SELECT sum(claims) FROM j_bundles"), 1);
  tear_down(&s);
}

static void assert_error(sqlite3 *db, const char *sql, const char *why) {
  const char *answer = database_text(db, sql);
  if (strncmp(answer, "error", 5) != 0 || strstr(answer, why) == NULL) {
    fail_msg("%s: '%s' and not an error with '%s'", sql, answer, why);
  }
}

static void a_table_without_its_source_can_be_dropped(void **state) {
  (void)state;
  static const char *const stored[] = {"byte_key_scan(t)", "byte_key_scan(t, where(a > 0))",
                                       "scan_job(t)"};
  for (size_t i = 0; i < sizeof stored / sizeof stored[0]; i++) {
    char path[512], sql[200];
    database_path("dropped", path);
    sqlite3 *db = database_open(path, 0);
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE s USING %s", stored[i]);
    assert_int_equal(database_run(db, sql), SQLITE_ERROR);
    if (strstr(sqlite3_errmsg(db), "no such table: t") == NULL) fail_msg("%s", sqlite3_errmsg(db));
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a)");
    database_must(db, sql);
    database_must(db, "DROP TABLE t");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    db = database_open(path, 0);
    assert_error(db, "SELECT * FROM s", "no such table: t");
    assert_error(db, "SELECT count(*) FROM s WHERE tracker = 'x'", "no such table: t");
    /* Another connection mends it. */
    sqlite3 *other = database_open(path, 0);
    database_must(other, "CREATE TABLE t(id INTEGER PRIMARY KEY, a);"
                         "INSERT INTO t VALUES (1, 5)");
    assert_int_equal(database_integer(db, "SELECT a FROM s"), 5);
    database_must(other, "DROP TABLE t");
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    db = database_open(path, 0);
    database_must(db, "DROP TABLE s");
    assert_int_equal(database_integer(db, "SELECT count(*) FROM sqlite_master"), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    database_remove(path);
  }
}

/* --- A source that changes between two scans ----------------------------------------------- */

static const struct {
  const char *what;
  const char *source;
  const char *table;
  const char *change;
  const char *why;
} sources[] = {
    {"the key has another type", "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID",
     "byte_key_scan(t)",
     "DROP TABLE t; CREATE TABLE t(k INTEGER PRIMARY KEY, v) WITHOUT ROWID;"
     "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
     "table t has changed: column k has another type"},
    {"the key has another affinity", "CREATE TABLE t(k ANY PRIMARY KEY, v ANY) WITHOUT ROWID",
     "byte_key_scan(t)",
     "DROP TABLE t; CREATE TABLE t(k ANY PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID;"
     "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
     "table t has changed: column k has another type"},
    {"the key is no longer unique", "CREATE TABLE t(k TEXT, v); CREATE UNIQUE INDEX u ON t(k)",
     "byte_key_scan(t, key(k))", "DROP INDEX u; INSERT INTO t VALUES ('2', 22), ('3', 33)",
     "table t has changed: its key is no longer one"},
    {"the key is another one", "CREATE TABLE t(k INTEGER, v, PRIMARY KEY (k, v)) WITHOUT ROWID",
     "byte_key_scan(t)",
     "DROP TABLE t; CREATE TABLE t(k INTEGER, v, PRIMARY KEY (v, k)) WITHOUT ROWID;"
     "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
     "table t has changed: its key is no longer one"},
    {"the rowid's place is taken by a key", "CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
     "byte_key_scan(t)",
     "DROP TABLE t; CREATE TABLE t(k INTEGER, v INTEGER PRIMARY KEY) WITHOUT ROWID;"
     "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
     "table t has changed: "},
    {"the rowid has lost its name", "CREATE TABLE t(k INTEGER, v)", "byte_key_scan(t)",
     "DROP TABLE t; CREATE TABLE t(k INTEGER, v, rowid);"
     "INSERT INTO t VALUES (1, 1, 4), (2, 2, 3), (3, 3, 2), (4, 4, 1)",
     "table t has changed: rowid is no longer its rowid"},
    {"the alias is one no longer", "CREATE TABLE t(k INTEGER PRIMARY KEY, v)", "byte_key_scan(t)",
     "DROP TABLE t; CREATE TABLE t(k INTEGER NOT NULL UNIQUE, v);"
     "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
     "table t has changed: k is no longer its rowid"},
    {"a view has its name", "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID",
     "byte_key_scan(t)",
     "DROP TABLE t; CREATE VIEW t AS SELECT '3' AS k, 5 AS v UNION ALL SELECT '3', 6",
     "table t has changed: it is another kind of table"},
    {"it is gone", "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID", "byte_key_scan(t)",
     "DROP TABLE t", "table main.t is gone"},
};

/* The queries of a scan before and after: each leaves its statement to the next one. */
static const char *const queries[][2] = {
    {"SELECT k FROM s", "SELECT k FROM s"},
    {"SELECT k FROM s LIMIT 2", "SELECT k, 1 FROM s"},
    {"SELECT k FROM s WHERE k > 1", "SELECT k, 1 FROM s WHERE k > 1"},
    {"SELECT k FROM s WHERE v > 1", "SELECT k FROM s WHERE v > 1"},
    {"SELECT k FROM s WHERE tracker = 'w' LIMIT 2", "SELECT k FROM s WHERE tracker = 'w' LIMIT 2"},
    {"SELECT count(*) FROM s WHERE tracker = 'w'", "SELECT count(*) FROM s WHERE tracker = 'w'"},
    {"SELECT k FROM s LIMIT 2", "SELECT k FROM s WHERE tracker = 'w'"},
    {"SELECT count(*) FROM s WHERE k > 3 AND k < 2",
     "SELECT count(*) FROM s WHERE k > 3 AND k < 2"},
};

static void run_to_the_end(sqlite3 *db, const char *sql) {
  if (database_run(db, sql) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* Runs all of `sql`, which must fail. */
static void must_fail(sqlite3 *db, const char *what, const char *sql, const char *why) {
  int rc = database_run(db, sql);
  if (rc == SQLITE_OK || strstr(sqlite3_errmsg(db), why) == NULL) {
    fail_msg("%s: %s: '%s' and not '%s'", what, sql, sqlite3_errmsg(db), why);
  }
}

/*
** Within one connection temp is not told of the change. So every query is refused until the table
** is created again.
*/
static void a_changed_source_is_noticed_every_time(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    if (strstr(sources[i].change, "STRICT") != NULL && sqlite3_libversion_number() < 3037000)
      continue;
    for (size_t j = 0; j < sizeof queries / sizeof queries[0]; j++) {
      char sql[300];
      sqlite3 *db = database_open(":memory:", 0);
      database_must(db, sources[i].source);
      database_must(db, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)");
      snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE temp.s USING %s", sources[i].table);
      database_must(db, sql);
      run_to_the_end(db, queries[j][0]);
      database_must(db, sources[i].change);
      for (int k = 0; k < 3; k++) must_fail(db, sources[i].what, queries[j][1], sources[i].why);
      must_fail(db, sources[i].what, "SELECT byte_key FROM s", sources[i].why);
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
  }
}

/*
** If SQLite itself connects the table again (after an ALTER, or a change by another connection),
** the table has another key. What a tracker has claimed says nothing about that key.
*/
static void a_tracker_stays_with_its_kind_of_key(void **state) {
  (void)state;
  static const struct {
    const char *source;
    const char *successor;
  } changes[] = {
      {"CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID",
       "CREATE TABLE n(k INTEGER PRIMARY KEY, v) WITHOUT ROWID"},
      {"CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
       "CREATE TABLE n(k INTEGER, v PRIMARY KEY) WITHOUT ROWID"},
      {"CREATE TABLE t(k, v, PRIMARY KEY (k, v)) WITHOUT ROWID",
       "CREATE TABLE n(k, v, PRIMARY KEY (v, k)) WITHOUT ROWID"},
      {"CREATE TABLE t(k INTEGER, v, PRIMARY KEY (k, v)) WITHOUT ROWID",
       "CREATE TABLE n(k TEXT, v, PRIMARY KEY (k, v)) WITHOUT ROWID"},
  };
  static const char *const places[] = {"temp.s", "main.s"};
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    for (int j = 0; j < 4; j++) {
      char path[512], sql[300];
      const char *query = "SELECT k FROM s WHERE tracker = 'w' LIMIT 2";
      database_path("tracker_of_a_key", path);
      sqlite3 *db = database_open(path, 0);
      sqlite3 *other = j < 2 ? db : database_open(path, 0);
      database_must(db, changes[i].source);
      database_must(db, "INSERT INTO t VALUES (1, 11), (2, 12), (3, 13), (4, 14)");
      snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE %s USING byte_key_scan(t)", places[j % 2]);
      database_must(db, sql);
      run_to_the_end(db, query);
      database_must(other, "BEGIN");
      database_must(other, changes[i].successor);
      database_must(other, "INSERT INTO n SELECT * FROM t; DROP TABLE t;"
                           "ALTER TABLE n RENAME TO t; COMMIT");
      for (int k = 0; k < 3; k++) {
        int rc = database_run(db, query);
        const char *message = sqlite3_errmsg(db);
        int is_told = strstr(message, "tracker 'w' has been used for keys") != NULL ||
                      strstr(message, "table t has changed") != NULL;
        if (rc == SQLITE_OK || !is_told) fail_msg("%s: %s", changes[i].successor, message);
      }
      assert_error(db, "SELECT tracker_check_done('w')", "was not attempted");
      assert_int_equal(database_integer(db, "SELECT count(*) FROM s"), 4);
      database_must(db, "SELECT tracker_close('w')");
      assert_int_equal(database_integer(db, "SELECT count(*) FROM s WHERE tracker = 'w'"), 4);
      if (other != db) assert_int_equal(sqlite3_close(other), SQLITE_OK);
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
      database_remove(path);
    }
  }
}

/* What does not touch the table's columns and its key lets a tracker go on. */
static void a_tracker_goes_on_over_other_changes(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID;"
                    "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);"
                    "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  assert_int_equal(database_integer(db, "SELECT k FROM s WHERE tracker = 'w' LIMIT 1"), 1);
  database_must(db, "CREATE INDEX i ON t(v)");
  assert_int_equal(database_integer(db, "SELECT k FROM s WHERE tracker = 'w' LIMIT 1"), 2);
  database_must(db, "ALTER TABLE t ADD COLUMN w");
  assert_int_equal(database_integer(db, "SELECT k FROM s WHERE tracker = 'w' LIMIT 1"), 3);
  assert_int_equal(database_integer(db, "SELECT hex(byte_key) FROM byte_key_scan('t') "
                                        "WHERE tracker = 'w'"),
                   34);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_locked_file_is_told_by_its_name(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    setting s;
    set_up(&s);
    database_must(s.other, "BEGIN EXCLUSIVE");
    assert_int_equal(sqlite3_exec(s.db, tables[i], NULL, NULL, NULL), SQLITE_BUSY);
    assert_string_equal(sqlite3_errmsg(s.db), "database is locked");
    database_must(s.other, "COMMIT");
    database_must(s.db, tables[i]);
    tear_down(&s);
  }
}

static int give_up(void *none) {
  (void)none;
  return 1;
}

/*
** Tables that are not yet connected must not make each other connect: the work would multiply with
** each.
*/
static void many_stored_tables_are_connected_over_a_stale_schema(void **state) {
  (void)state;
  enum { TABLES = 6, MOST_STEPS = 1000000 };
  setting s;
  char sql[100];
  set_up(&s);
  for (int i = 0; i < TABLES; i++) {
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE v%d USING %s(t)", i,
             i % 2 == 0 ? "scan_job" : "byte_key_scan");
    database_must(s.other, sql);
  }
  change(&s, "aux");
  sqlite3_progress_handler(s.db, MOST_STEPS, give_up, NULL);
  assert_int_equal(database_integer(s.db, "SELECT count(*) FROM v1"), 1);
  assert_int_equal(database_integer(s.db, "SELECT job_claim('v0', 'w') IS NOT NULL"), 1);
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_is_created_over_a_stale_schema),
      cmocka_unit_test(a_table_is_used_over_a_stale_schema),
      cmocka_unit_test(rows_go_into_temp_while_others_write),
      cmocka_unit_test(a_temp_table_is_filled_over_a_stale_schema),
      cmocka_unit_test(a_bundle_goes_into_temp_over_a_stale_schema),
      cmocka_unit_test(a_locked_file_is_told_by_its_name),
      cmocka_unit_test(many_stored_tables_are_connected_over_a_stale_schema),
      cmocka_unit_test(a_table_without_its_source_can_be_dropped),
      cmocka_unit_test(a_changed_source_is_noticed_every_time),
      cmocka_unit_test(a_tracker_stays_with_its_kind_of_key),
      cmocka_unit_test(a_tracker_goes_on_over_other_changes),
  };
  return cmocka_run_group_tests_name("changes of the schema", tests, NULL, NULL);
}
