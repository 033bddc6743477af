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
  static const char *const uses[] = {
      "SELECT a FROM s",
      "CREATE TEMP TABLE z AS SELECT * FROM s; SELECT a FROM z; DROP TABLE z",
      "CREATE TEMP TABLE z(a); INSERT INTO z SELECT a FROM s; SELECT a FROM z; DROP TABLE z",
  };
  /* Before 3.41 a table cannot say that it reads other schemas: docs/limits.md. */
  size_t count = sqlite3_libversion_number() < 3041000 ? 1 : sizeof uses / sizeof uses[0];
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    setting s;
    set_up(&s);
    database_must(s.db, tables[i]);
    for (size_t j = 0; j < count; j++) {
      change(&s, "main");
      change(&s, "aux");
      database_must(s.db, uses[j]);
      change(&s, "aux");
      assert_int_equal(database_integer(s.db, "SELECT a FROM s"), 5);
    }
    tear_down(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_is_created_over_a_stale_schema),
      cmocka_unit_test(a_table_is_used_over_a_stale_schema),
  };
  return cmocka_run_group_tests_name("changes of the schema", tests, NULL, NULL);
}
