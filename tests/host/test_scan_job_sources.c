/*
** scan_job: which table a job reads. It is the one that the job was made for, never another one
** that now has the same name.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

static void assert_refused(const char *answer, const char *why) {
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("'%s' instead of an error with '%s'", answer, why);
  }
}

#define THREE_ROWS "(id INTEGER PRIMARY KEY, v); INSERT INTO "
#define ROWS " VALUES (1, 'mine'), (2, 'mine'), (3, 'mine');"
#define OTHER(table)                                                      \
  "CREATE TABLE " table "(id INTEGER PRIMARY KEY, v); INSERT INTO " table \
  " VALUES (1, 'other'), (7, 'other');"

static void another_table_of_its_name_is_not_the_source(void **state) {
  (void)state;
  static const struct {
    const char *setup;
    const char *job;
    const char *away;
    const char *other;
    const char *back;
    const char *why;
  } cases[] = {
      {"CREATE TABLE t" THREE_ROWS "t" ROWS "CREATE VIRTUAL TABLE job USING scan_job(t)", "job",
       "ALTER TABLE main.t RENAME TO t2", OTHER("aux.t"), "ALTER TABLE t2 RENAME TO t",
       "no such table: t;"},
      {"CREATE TABLE t" THREE_ROWS "t" ROWS "CREATE VIRTUAL TABLE job USING scan_job(t)", "job",
       "ALTER TABLE main.t RENAME TO t2", OTHER("temp.t"), "ALTER TABLE t2 RENAME TO t",
       "no such table: t;"},
      {"CREATE TABLE aux.t" THREE_ROWS "aux.t" ROWS
       "CREATE VIRTUAL TABLE aux.job USING scan_job(t)",
       "aux.job", "ALTER TABLE aux.t RENAME TO t2", OTHER("main.t"),
       "ALTER TABLE aux.t2 RENAME TO t", "no such table: t;"},
      /* A job of temp over a table of main, found as SQLite finds it. */
      {"CREATE TABLE t" THREE_ROWS "t" ROWS "CREATE VIRTUAL TABLE temp.job USING scan_job(t)",
       "job", "ALTER TABLE main.t RENAME TO t2", OTHER("aux.t"), "ALTER TABLE t2 RENAME TO t",
       "no such table: main.t;"},
      {"CREATE TABLE t" THREE_ROWS "t" ROWS "CREATE VIRTUAL TABLE temp.job USING scan_job(t)",
       "job", "ALTER TABLE main.t RENAME TO t2", OTHER("temp.t"), "ALTER TABLE t2 RENAME TO t",
       "no such table: main.t;"},
      {"CREATE TEMP TABLE t" THREE_ROWS "t" ROWS "CREATE VIRTUAL TABLE temp.job USING scan_job(t)",
       "job", "ALTER TABLE temp.t RENAME TO t2", OTHER("main.t"), "ALTER TABLE temp.t2 RENAME TO t",
       "no such table: t;"},
  };
  static const char *const uses[] = {
      "SELECT job_claim('%s', 'w', 1)",
      "SELECT count(*) FROM %s",
      "SELECT remaining FROM job_progress('%s')",
      "SELECT job_rescan('%s')",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sql[200];
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "ATTACH ':memory:' AS aux");
    database_must(db, cases[i].setup);
    snprintf(sql, sizeof sql, uses[0], cases[i].job);
    assert_string_equal(database_text(db, sql),
                        "{\"start\":\"\",\"end\":\"8000000000000002\",\"claim\":1}");
    database_must(db, cases[i].away);
    database_must(db, cases[i].other);
    for (size_t j = 0; j < sizeof uses / sizeof uses[0]; j++) {
      snprintf(sql, sizeof sql, uses[j], cases[i].job);
      assert_refused(database_text(db, sql), cases[i].why);
    }
    /* Both are there again: it is still the one that it was. */
    database_must(db, cases[i].back);
    snprintf(sql, sizeof sql, "SELECT group_concat(v) FROM %s", cases[i].job);
    assert_string_equal(database_text(db, sql), "mine,mine,mine");
    snprintf(sql, sizeof sql, uses[0], cases[i].job);
    assert_string_equal(
        database_text(db, sql),
        "{\"start\":\"8000000000000002\",\"end\":\"8000000000000003\",\"claim\":1}");
    snprintf(sql, sizeof sql, "DROP TABLE %s", cases[i].job);
    database_must(db, sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* The schema of a name that was found elsewhere is kept with the job, however it is spelled. */
static void the_schema_may_have_any_name(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "ATTACH ':memory:' AS 'a \"b\".(c)';"
                    "CREATE TABLE \"a \"\"b\"\".(c)\".t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t VALUES (5);"
                    "CREATE VIRTUAL TABLE temp.job USING scan_job(t);"
                    "CREATE TABLE main.t(id INTEGER PRIMARY KEY); INSERT INTO main.t VALUES (6)");
  assert_string_equal(database_text(db, "SELECT job_claim('job', 'w')"),
                      "{\"start\":\"\",\"end\":\"8000000000000006\",\"claim\":1}");
  assert_int_equal(database_integer(db, "SELECT id FROM job"), 5);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* SQLite knows it under two names, and not every release calls its columns by both. */
static void the_schema_table_is_walked_under_each_of_its_names(void **state) {
  (void)state;
  static const char *const names[] = {"sqlite_schema", "sqlite_master", "main.sqlite_schema",
                                      "SQLITE_SCHEMA"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char sql[200];
    sqlite3 *db = database_open(":memory:", 0);
    snprintf(sql, sizeof sql, "CREATE TABLE t(v); CREATE VIRTUAL TABLE job USING scan_job(%s)",
             names[i]);
    database_must(db, sql);
    assert_string_equal(database_text(db, "SELECT job_claim('job', 'w', 1)"),
                        "{\"start\":\"\",\"end\":\"8000000000000002\",\"claim\":1}");
    assert_string_equal(database_text(db, "SELECT name FROM job"), "t");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* Another file under the same name, whose schema was changed as often. */
static void another_file_of_its_name_is_not_the_source(void **state) {
  (void)state;
  char first[512], other[512], sql[1200];
  const char *path[] = {database_path("source_file", first), database_path("other_file", other)};
  sqlite3 *db = database_open(":memory:", 0);
  for (int i = 0; i < 2; i++) {
    snprintf(sql, sizeof sql,
             "ATTACH '%s' AS a; CREATE TABLE a.t(id %s; INSERT INTO a.t VALUES ('1'), ('2'), ('3');"
             "DETACH a",
             path[i], i == 0 ? "INTEGER PRIMARY KEY)" : "TEXT PRIMARY KEY) WITHOUT ROWID");
    database_must(db, sql);
  }
  snprintf(sql, sizeof sql, "ATTACH '%s' AS a; CREATE VIRTUAL TABLE job USING scan_job(a.t)",
           path[0]);
  database_must(db, sql);
  database_must(db, "SELECT job_claim('job', 'w', 1)");
  snprintf(sql, sizeof sql, "DETACH a; ATTACH '%s' AS a", path[1]);
  database_must(db, sql);
  assert_refused(database_text(db, "SELECT job_claim('job', 'w', 1)"), "is now text(id)");
  snprintf(sql, sizeof sql, "DETACH a; ATTACH '%s' AS a", path[0]);
  database_must(db, sql);
  assert_string_equal(database_text(db, "SELECT job_claim('job', 'w', 1) ->> 'start'"),
                      "8000000000000002");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(first);
  database_remove(other);
}

/* In each `%s` stands a bundle that was claimed before. */
static const char *const uses[] = {
    "SELECT count(*) FROM job",
    "SELECT count(*) FROM job WHERE restriction = '%s'",
    "SELECT job_claim('job', 'w', 2)",
    "SELECT job_next('job', '%s', 'w', 2)",
    "SELECT job_done('job', '%s')",
    "SELECT job_heartbeat('job', '%s')",
    "SELECT job_release('job', '%s')",
    "SELECT job_fail('job', '%s', 'no')",
    "SELECT job_retry('job')",
    "SELECT job_rescan('job')",
    "SELECT rows FROM job_progress('job')",
    "SELECT count(*) FROM job_rowids('job', '%s')",
};

static void all_are_refused(sqlite3 *db, const char *bundle, const char *why) {
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    char *sql = sqlite3_mprintf(uses[i], bundle);
    assert_refused(database_text(db, sql), why);
    sqlite3_free(sql);
  }
}

/* Does what is left, two keys at a time, and closes the connection. */
static void each_is_done_once(sqlite3 *db, const char *bundle) {
  char sql[500], held[300];
  snprintf(held, sizeof held, "%s", bundle);
  while (held[0] != '\0') {
    assert_int_not_equal(strncmp(held, "error: ", 7), 0);
    snprintf(sql, sizeof sql, "INSERT INTO out SELECT id FROM job WHERE restriction = '%s'", held);
    database_must(db, sql);
    snprintf(sql, sizeof sql, "SELECT ifnull(job_next('job', '%s', 'w', 2), '')", held);
    snprintf(held, sizeof held, "%s", database_text(db, sql));
  }
  assert_string_equal(database_text(db, "SELECT group_concat(id, ' ') FROM out"), "1 2 3 4 5 6 7");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define SEVEN "; INSERT INTO t(id, v) SELECT value, 'v' || value FROM counting_input(8, 1)"

/*
** SQLite does not connect a virtual table again when the same connection drops and creates its
** source. As long as its rows cannot be read there, no bundle is claimed and none is ended.
*/
static void what_cannot_be_read_here_is_not_handed_out(void **state) {
  (void)state;
  static const struct {
    const char *clauses;
    const char *after; /* the table when it is created again */
    int is_readable;
  } cases[] = {
      {"", "v TEXT, id INTEGER PRIMARY KEY, z", 0},
      {", columns(id, v)", "v TEXT, id INTEGER PRIMARY KEY, z", 0},
      {", columns(id)", "id INTEGER PRIMARY KEY, v BLOB, z", 0},
      {"", "id INTEGER PRIMARY KEY, v TEXT", 0},
      {"", "id INTEGER PRIMARY KEY, v TEXT, z, more", 1},
      {"", "id INTEGER PRIMARY KEY, v TEXT, z", 1},
  };
  static const char before[] = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, z)" SEVEN;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[512], sql[400], held[300];
    for (int is_undone = 0; is_undone < 2; is_undone++) {
      sqlite3 *db = database_open(database_path("in_place", path), 0);
      database_must(db, before);
      snprintf(sql, sizeof sql,
               "CREATE TABLE out(id); CREATE VIRTUAL TABLE job USING scan_job(t%s)",
               cases[i].clauses);
      database_must(db, sql);
      snprintf(held, sizeof held, "%s", database_text(db, "SELECT job_claim('job', 'w', 2)"));
      snprintf(sql, sizeof sql, "DROP TABLE t; CREATE TABLE t(%s)" SEVEN, cases[i].after);
      database_must(db, sql);
      if (!cases[i].is_readable) {
        all_are_refused(db, held,
                        "; job job reads that table: change it back, open the connection");
      }
      if (is_undone) {
        database_must(db, "DROP TABLE t");
        database_must(db, before);
      } else if (!cases[i].is_readable) {
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        db = database_open(path, 0);
        snprintf(sql, sizeof sql, "SELECT job_heartbeat('job', '%s', 60, 'w')", held);
        assert_int_equal(database_integer(db, sql), 1);
      }
      each_is_done_once(db, held);
      database_remove(path);
    }
  }
}

/* Nor where the source was gone when the connection first used the job, and is back since. */
static void what_was_gone_at_first_is_not_handed_out(void **state) {
  (void)state;
  char path[512], held[300];
  sqlite3 *db = database_open(database_path("gone_at_first", path), 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)" SEVEN);
  database_must(db, "CREATE TABLE out(id); CREATE VIRTUAL TABLE job USING scan_job(t)");
  snprintf(held, sizeof held, "%s", database_text(db, "SELECT job_claim('job', 'w', 2)"));
  database_must(db, "DROP TABLE t");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  db = database_open(path, 0);
  all_are_refused(db, held, "no such table: t; job job reads that table");
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)" SEVEN);
  all_are_refused(db, held, "when this connection first used job job: open the connection anew");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  each_is_done_once(database_open(path, 0), held);
  database_remove(path);
}

/*
** If another connection has created the source again, SQLite connects the table again. A kept
** statement that was prepared before holds the old table, which does no harm.
*/
static void a_kept_statement_does_not_keep_the_source(void **state) {
  (void)state;
  char path[512], held[300];
  sqlite3_stmt *kept;
  sqlite3 *db = database_open(database_path("kept", path), 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)" SEVEN);
  database_must(db, "CREATE TABLE out(id); CREATE VIRTUAL TABLE job USING scan_job(t)");
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT id FROM job", -1, &kept, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
  assert_int_equal(sqlite3_reset(kept), SQLITE_OK);
  snprintf(held, sizeof held, "%s", database_text(db, "SELECT job_claim('job', 'w', 2)"));
  sqlite3 *other = database_open(path, 0);
  database_must(other, "DROP TABLE t; CREATE TABLE t(v, id INTEGER PRIMARY KEY)" SEVEN);
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
  assert_int_equal(database_integer(db, "SELECT job_heartbeat('job', (SELECT byte_key_range("
                                        "start_key, end_key) FROM job_bundles"
                                        " WHERE state = 'claimed'))"),
                   1);
  assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
  assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
  each_is_done_once(db, held);
  database_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_table_of_its_name_is_not_the_source),
      cmocka_unit_test(another_file_of_its_name_is_not_the_source),
      cmocka_unit_test(what_cannot_be_read_here_is_not_handed_out),
      cmocka_unit_test(what_was_gone_at_first_is_not_handed_out),
      cmocka_unit_test(a_kept_statement_does_not_keep_the_source),
      cmocka_unit_test(the_schema_may_have_any_name),
      cmocka_unit_test(the_schema_table_is_walked_under_each_of_its_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
