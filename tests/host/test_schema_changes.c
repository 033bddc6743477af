/*
** What happens to our virtual tables when somebody else changes the schema: while they are created, and
** between two uses of them.
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_is_created_over_a_stale_schema),
      cmocka_unit_test(a_table_is_used_over_a_stale_schema),
      cmocka_unit_test(rows_go_into_temp_while_others_write),
      cmocka_unit_test(a_table_without_its_source_can_be_dropped),
  };
  return cmocka_run_group_tests_name("changes of the schema", tests, NULL, NULL);
}
