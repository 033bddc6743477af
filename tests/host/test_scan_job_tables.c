/*
** scan_job: tables and files. Every kind of key, many jobs, attached files, changes of the schema,
** and what happens to the shadow tables.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

static void close_database(sqlite3 *db) {
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_refused(const char *answer, const char *why) {
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("'%s' instead of an error with '%s'", answer, why);
  }
}

/* Works through a job: `output` gets each bundle as ?1. Returns how many bundles there were. */
static int work(sqlite3 *db, const char *job, int keys, const char *output) {
  char sql[300];
  int count = 0;
  for (;; count++) {
    snprintf(sql, sizeof sql, "SELECT job_claim('%s', 'w', %d, 60)", job, keys);
    const char *bundle = database_text(db, sql);
    if (strncmp(bundle, "error", 5) == 0) fail_msg("%s: %s", job, bundle);
    if (bundle[0] == '\0') return count;
    sqlite3_stmt *stmt = NULL;
    database_must(db, "BEGIN IMMEDIATE");
    if (sqlite3_prepare_v2(db, output, -1, &stmt, NULL) != SQLITE_OK) {
      fail_msg("%s: %s", output, sqlite3_errmsg(db));
    }
    assert_int_equal(database_step(stmt, bundle, NULL), SQLITE_OK);
    sqlite3_finalize(stmt);
    snprintf(sql, sizeof sql, "SELECT job_done('%s', '%s'); COMMIT", job, bundle);
    database_must(db, sql);
  }
}

/* --- Keys -------------------------------------------------------------------------------- */

typedef struct source {
  const char *what;
  const char *table; /* creates and fills t */
  const char *arguments;
} source;

#define NUMBERS " FROM counting_input(40)"

static const source sources[] = {
    {"integer primary key",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
     "INSERT INTO t SELECT value * 7 - 100, value" NUMBERS,
     "t"},
    {"rowids at both ends",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
     "INSERT INTO t VALUES (-9223372036854775808, 1), (0, 2), (9223372036854775807, 3)",
     "t"},
    {"one row with id 0", "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (0, 0)",
     "t"},
    {"a rowid without a name", "CREATE TABLE t(v); INSERT INTO t SELECT value" NUMBERS, "t"},
    {"text",
     "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID;"
     "INSERT INTO t SELECT lower(hex(value * 7919 % 101)), value" NUMBERS,
     "t, key(k)"},
    {"text with NULLs, '', numbers and zero bytes",
     "CREATE TABLE t(k TEXT PRIMARY KEY, v);"
     "INSERT INTO t VALUES (NULL, 1), (NULL, 2), (NULL, 3), ('', 4), ('a', 5), (CAST(x'6100' AS "
     "TEXT), 6),"
     "('b''\"', 7), (x'00', 8), (x'ff', 9), ('\xc3\xa9', 10)",
     "t, key(k)"},
    {"blobs",
     "CREATE TABLE t(k BLOB PRIMARY KEY NOT NULL, v);"
     "INSERT INTO t SELECT CAST(char(1200 - value * 7, value + 1) AS BLOB), value" NUMBERS,
     "t, key(k)"},
    {"two columns",
     "CREATE TABLE t(a, b, v, PRIMARY KEY (a, b)) WITHOUT ROWID;"
     "INSERT INTO t SELECT value / 7, value % 7, value" NUMBERS,
     "t, key(a, b)"},
    {"three columns of all types, some NULL",
     "CREATE TABLE t(a, b, c, v, UNIQUE (a, b, c));"
     "INSERT INTO t SELECT CASE value % 4 WHEN 0 THEN NULL WHEN 1 THEN 'x' "
     "WHEN 2 THEN x'01' ELSE 1.5 END, value / 9, NULL, value" NUMBERS,
     "t, key(a, b, c)"},
    {"a descending index",
     "CREATE TABLE t(a, v); CREATE UNIQUE INDEX i ON t(a DESC);"
     "INSERT INTO t SELECT value * 1.5, value" NUMBERS,
     "t, key(a)"},
    {"text as byte_key",
     "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v);"
     "INSERT INTO t SELECT 'k' || value, value" NUMBERS,
     "t, key(byte_key(k))"},
    {"a generated column",
     "CREATE TABLE t(v, k INTEGER AS (-v) STORED UNIQUE);"
     "INSERT INTO t(v) SELECT value" NUMBERS,
     "t, key(k)"},
};

static void every_kind_of_key(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    for (int keys = 1; keys <= 16; keys *= 4) {
      char sql[300];
      sqlite3 *db = database_open(":memory:", 0);
      database_must(db, sources[i].table);
      snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE job USING scan_job(%s)",
               sources[i].arguments);
      database_must(db, sql);
      database_must(db, "CREATE TABLE out(v)");
      int64_t rows = database_integer(db, "SELECT count(*) FROM t");
      int64_t bundles =
          work(db, "job", keys, "INSERT INTO out SELECT v FROM job WHERE restriction = ?1");
      if (database_integer(db, "SELECT count(*) FROM out") != rows ||
          database_integer(db, "SELECT count(DISTINCT v) FROM out") != rows ||
          bundles != (rows + keys - 1) / keys) {
        fail_msg("%s, %d keys: %lld of %lld rows in %lld bundles", sources[i].what, keys,
                 (long long)database_integer(db, "SELECT count(*) FROM out"), (long long)rows,
                 (long long)bundles);
      }
      assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
      close_database(db);
    }
  }
}

static void what_has_no_key_is_refused_with_the_reason(void **state) {
  (void)state;
  static const char *const refused[][3] = {
      {"CREATE VIEW s AS SELECT 1 AS a", "s", "is a view"},
      {"CREATE TABLE s(a TEXT COLLATE NOCASE PRIMARY KEY) WITHOUT ROWID", "s", "collation"},
      {"CREATE TABLE s(a)", "s, key(a)", "not unique"},
      {"CREATE TABLE s(a)", "s, max_attempts(0)", "max_attempts"},
      {"CREATE TABLE s(a)", "s, where(missing > 1)", "no such column"},
      {"CREATE TABLE s(a)", "s, workers(2)", "workers"},
      {"CREATE TABLE s(restriction)", "s", "hidden"},
      {"CREATE TABLE s(a)", "missing", "no such table"},
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    char sql[200];
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, refused[i][0]);
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE job USING scan_job(%s)", refused[i][1]);
    assert_refused(database_text(db, sql), refused[i][2]);
    assert_int_equal(
        database_integer(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'job%'"), 0);
    close_database(db);
  }
}

/* --- Names and files --------------------------------------------------------------------- */

static void many_jobs_on_one_table_do_not_meet(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(
      db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t SELECT value, value" NUMBERS
          "; CREATE TABLE out(job, v)");
  database_must(db, "CREATE VIRTUAL TABLE one USING scan_job(t);"
                    "CREATE VIRTUAL TABLE two USING scan_job(t, where(v % 2 = 0))");
  assert_int_equal(
      work(db, "one", 10, "INSERT INTO out SELECT 1, v FROM one WHERE restriction = ?1"), 4);
  assert_int_equal(
      work(db, "two", 7, "INSERT INTO out SELECT 2, v FROM two WHERE restriction = ?1"), 6);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out WHERE job = 1"), 40);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out WHERE job = 2"), 20);
  assert_refused(database_text(db,
                               "SELECT job_done('two', (SELECT byte_key_range(start_key, end_key) "
                               "FROM one_bundles ORDER BY start_key LIMIT 1 OFFSET 1))"),
                 "of job two");
  close_database(db);
}

static void names_that_need_quotes(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(
      db, "CREATE TABLE \"a \"\"b\"(\"or der\" INTEGER PRIMARY KEY);"
          "INSERT INTO \"a \"\"b\" SELECT value" NUMBERS ";"
          "CREATE TABLE out(v);"
          "CREATE VIRTUAL TABLE \"select \"\"1'\" USING scan_job(\"a \"\"b\", key(\"or der\"))");
  assert_int_equal(
      work(db, "\"select \"\"1''\"", 10,
           "INSERT INTO out SELECT \"or der\" FROM \"select \"\"1'\" WHERE restriction = ?1"),
      4);
  database_must(db, "ALTER TABLE \"select \"\"1'\" RENAME TO \"it's\"");
  assert_int_equal(database_integer(db, "SELECT rows FROM job_progress('\"it''s\"')"), 40);
  database_must(db, "DROP TABLE \"it's\"");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM sqlite_master"), 2);
  close_database(db);
}

static void attached_files_and_temp(void **state) {
  (void)state;
  char path[512];
  char sql[600];
  sqlite3 *db = database_open(":memory:", 0);
  snprintf(sql, sizeof sql, "ATTACH '%s' AS aux", database_path("aux", path));
  database_must(db, sql);
  database_must(
      db, "CREATE TABLE aux.t(id INTEGER PRIMARY KEY); INSERT INTO aux.t SELECT value" NUMBERS ";"
          "CREATE TABLE main.t(id INTEGER PRIMARY KEY); INSERT INTO main.t VALUES (1);"
          "CREATE TABLE out(v);"
          "CREATE VIRTUAL TABLE aux.job USING scan_job(t);"
          "CREATE VIRTUAL TABLE temp.job USING scan_job(main.t)");
  /* Without a schema it is temp's, as in SQLite. The source is that of the job's own file. */
  assert_int_equal(database_integer(db, "SELECT remaining FROM job_progress('job')"), 1);
  assert_int_equal(database_integer(db, "SELECT remaining FROM job_progress('aux.job')"), 40);
  assert_int_equal(
      work(db, "aux.job", 20, "INSERT INTO out SELECT id FROM aux.job WHERE restriction = ?1"), 2);
  database_must(db, "DROP TABLE temp.job");
  assert_int_equal(database_integer(db, "SELECT rows FROM job_progress('job')"),
                   40); /* found in aux */
  close_database(db);
  /* The file alone, under another name. */
  db = database_open(path, 0);
  assert_int_equal(database_integer(db, "SELECT rows FROM job_progress('job')"), 40);
  database_must(db, "INSERT INTO t VALUES (1000)");
  assert_string_not_equal(database_text(db, "SELECT job_claim('main.job', 'w')"), "");
  close_database(db);
  database_remove(path);
}

static void a_job_survives_vacuum_backup_and_reopening(void **state) {
  (void)state;
  char path[512];
  char copy[512];
  sqlite3 *db = database_open(database_path("vacuum", path), 0);
  database_must(
      db, "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t SELECT 'k' || value, value" NUMBERS
          "; CREATE TABLE out(v); CREATE VIRTUAL TABLE job USING scan_job(t, key(k))");
  char bundle[300];
  snprintf(bundle, sizeof bundle, "%s", database_text(db, "SELECT job_claim('job', 'w', 15, 60)"));
  database_must(db, "DELETE FROM t WHERE v % 10 = 3; VACUUM");
  sqlite3 *other = database_open(database_path("backup", copy), 0);
  sqlite3_backup *backup = sqlite3_backup_init(other, "main", db, "main");
  assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
  close_database(db);
  sqlite3 *files[] = {database_open(path, 0), other};
  for (int i = 0; i < 2; i++) {
    char sql[800];
    snprintf(sql, sizeof sql,
             "BEGIN; INSERT INTO out SELECT v FROM job WHERE restriction = '%s';"
             "SELECT job_done('job', '%s', 'w'); COMMIT",
             bundle, bundle);
    database_must(files[i], sql);
    work(files[i], "job", 7, "INSERT INTO out SELECT v FROM job WHERE restriction = ?1");
    assert_int_equal(database_integer(files[i], "SELECT count(DISTINCT v) FROM out"), 36);
    assert_int_equal(database_integer(files[i], "SELECT count(*) FROM out"), 36);
    close_database(files[i]);
  }
  database_remove(path);
  database_remove(copy);
}

/* --- Shadow tables ----------------------------------------------------------------------- */

static void defensive_mode_protects_them_and_lets_jobs_work(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL), SQLITE_OK);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t SELECT value" NUMBERS
                    "; CREATE TABLE out(v); CREATE VIRTUAL TABLE job USING scan_job(t)");
  assert_refused(database_text(db, "UPDATE job_bundles SET state = 'done'"), "may not be modified");
  assert_refused(database_text(db, "DROP TABLE job_job"), "may not be dropped");
  assert_int_equal(work(db, "job", 10, "INSERT INTO out SELECT id FROM job WHERE restriction = ?1"),
                   4);
  assert_int_equal(database_integer(db, "SELECT job_rescan('job') + job_retry('job')"), 0);
  database_must(db, "ALTER TABLE job RENAME TO other");
  assert_refused(database_text(db, "DELETE FROM other_bundles"), "may not be modified");
  assert_int_equal(database_integer(db, "SELECT done FROM job_progress('other')"), 4);
  database_must(db, "DROP TABLE other");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM sqlite_master"), 2);
  close_database(db);
}

static void renamed_and_made_anew(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = database_open(database_path("anew", path), 0);
  sqlite3 *other = database_open(path, 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t SELECT value" NUMBERS
                    "; CREATE VIRTUAL TABLE job USING scan_job(t)");
  assert_string_not_equal(database_text(other, "SELECT job_claim('job', 'w', 10)"), "");
  database_must(db, "BEGIN; ALTER TABLE job RENAME TO kept; ROLLBACK");
  assert_int_equal(database_integer(db, "SELECT claimed FROM job_progress('job')"), 1);
  database_must(db, "ALTER TABLE job RENAME TO kept");
  assert_refused(database_text(other, "SELECT job_claim('job', 'w', 10)"), "");
  assert_int_equal(database_integer(other, "SELECT claimed FROM job_progress('kept')"), 1);
  database_must(db, "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(9))");
  assert_int_equal(database_integer(other, "SELECT claimed FROM job_progress('job')"), 0);
  database_must(db, "DROP TABLE job; CREATE VIRTUAL TABLE job USING scan_job(t)");
  const char *answer = database_text(other, "SELECT job_claim('job', 'w', 10)");
  if (strncmp(answer, "error", 5) == 0)
    answer = database_text(other, "SELECT job_claim('job', 'w', 10)");
  assert_string_equal(answer, "{\"start\":\"\",\"end\":\"800000000000000a\",\"claim\":1}");
  close_database(db);
  close_database(other);
  database_remove(path);
}

static void a_job_of_a_newer_version_is_left_alone(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(
      db, "CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE VIRTUAL TABLE job USING scan_job(t);"
          "UPDATE job_job SET schema_version = 99");
  assert_refused(database_text(db, "SELECT job_claim('job', 'w')"), "version 99");
  close_database(db);
}

static void copy_file(const char *from, const char *to) {
  char bytes[4096];
  size_t size;
  FILE *in = fopen(from, "rb");
  FILE *out = fopen(to, "wb");
  if (in == NULL || out == NULL) fail_msg("cannot copy %s (run from the root)", from);
  while ((size = fread(bytes, 1, sizeof bytes, in)) > 0) fwrite(bytes, 1, size, out);
  fclose(in);
  fclose(out);
}

/*
** The file has a job of that version in the middle of its life. Of 40 rows one bundle is done, one
** is claimed, a key has failed, and others are pending.
*/
static void goes_on(const char *file, const char *counts) {
  char path[512];
  copy_file(file, database_path("old_version", path));
  sqlite3 *db = database_open(path, 0);
  assert_string_equal(database_text(db, "SELECT pending || ' ' || claimed || ' ' || done || ' ' || "
                                        "failed || ' ' || rows FROM job_progress('job')"),
                      counts);
  work(db, "job", 100, "INSERT INTO out SELECT id, v FROM job WHERE restriction = ?1");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 40 - 8 - 1);
  database_must(
      db,
      "BEGIN; INSERT INTO out SELECT id, v FROM job WHERE restriction = (SELECT bundle FROM mine "
      "WHERE n = 3)");
  assert_string_equal(
      database_text(db, "SELECT job_done('job', bundle, 'w3') FROM mine WHERE n = 3"), "1");
  database_must(db, "COMMIT");
  assert_int_equal(database_integer(db, "SELECT job_retry('job')"), 1);
  assert_int_equal(
      work(db, "job", 100, "INSERT INTO out SELECT id, v FROM job WHERE restriction = ?1"), 1);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out JOIN events USING (id, v)"), 40);
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
  /* Rows behind the position are found and done under another name. One of them fails. */
  database_must(
      db, "ALTER TABLE job RENAME TO renamed; INSERT INTO events VALUES (1, 1), (-1, 1), (5, 1)");
  assert_int_equal(database_integer(db, "SELECT job_rescan('renamed')"), 3);
  assert_string_equal(
      database_text(db, "SELECT job_fail('renamed', job_claim('renamed', 'w'), 'm')"), "failed");
  assert_int_equal(
      work(db, "renamed", 1, "INSERT INTO out SELECT id, v FROM renamed WHERE restriction = ?1"),
      2);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out JOIN events USING (id, v)"), 42);
  assert_string_equal(database_text(db, "PRAGMA integrity_check"), "ok");
  database_must(
      db, "CREATE VIRTUAL TABLE job USING scan_job(events); DROP TABLE renamed; DROP TABLE job");
  assert_int_equal(
      database_integer(
          db,
          "SELECT count(*) FROM sqlite_master WHERE name LIKE '%bundles%' OR name LIKE '%live%'"),
      0);
  close_database(db);
  database_remove(path);
}

static void a_job_of_version_1_goes_on(void **state) {
  (void)state;
  goes_on("tests/vectors/scan_job_version_1.sqlite", "3 1 1 1 8");
}

static void a_job_of_version_2_goes_on(void **state) {
  (void)state;
  goes_on("tests/vectors/scan_job_version_2.sqlite", "3 1 2 1 8");
}

static void damage_is_reported_and_can_be_dropped(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(
      db, "CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE VIRTUAL TABLE job USING scan_job(t);"
          "UPDATE job_bundles SET state = 'lost'");
  assert_refused(database_text(db, "SELECT job_claim('job', 'w')"), "which there is not");
  if (sqlite3_libversion_number() >= 3044000) {
    assert_string_equal(database_text(db, "PRAGMA integrity_check"),
                        "scan_job main.job: bundle x'' has the state 'lost', which there is not");
    database_must(db, "UPDATE job_bundles SET state = 'pending'");
    assert_string_equal(database_text(db, "PRAGMA integrity_check"), "ok");
    database_must(db, "UPDATE job_bundles SET end_key = x'00', keys = 1");
    assert_string_equal(database_text(db, "PRAGMA integrity_check"),
                        "scan_job main.job: the bundles do not reach the highest key");
  }
  database_must(db, "DROP TABLE job_job");
  assert_refused(database_text(db, "SELECT job_claim('job', 'w')"), "no such table");
  database_must(db, "DROP TABLE job");
  close_database(db);
}

/* --- Changes of the source --------------------------------------------------------------- */

static void a_source_that_changes(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = database_open(database_path("changes", path), 0);
  database_must(db, "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID;"
                    "INSERT INTO t SELECT 'k' || value, value" NUMBERS
                    "; CREATE VIRTUAL TABLE job USING scan_job(t, key(k), where(v >= 0))");
  assert_string_not_equal(database_text(db, "SELECT job_claim('job', 'w', 10)"), "");
  /* Another connection changes it, so that ours learns of it in the middle of a claim. */
  sqlite3 *other = database_open(path, 0);
  database_must(other, "ALTER TABLE t ADD COLUMN more DEFAULT 7");
  assert_string_not_equal(database_text(db, "SELECT job_claim('job', 'w', 10)"), "");
  assert_int_equal(database_integer(db, "SELECT more FROM job"), 7);
  database_must(other, "ALTER TABLE t RENAME COLUMN v TO w");
  assert_refused(database_text(db, "SELECT count(*) FROM job"), "no such column: v");
  database_must(other, "ALTER TABLE t RENAME COLUMN w TO v");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job"), 40);
  database_must(other, "ALTER TABLE t RENAME TO u");
  assert_refused(database_text(db, "SELECT job_claim('job', 'w', 10)"), "no such table");
  database_must(other, "ALTER TABLE u RENAME TO t");
  assert_string_not_equal(database_text(db, "SELECT job_claim('job', 'w', 10)"), "");
  /* The same name, another key. */
  database_must(other, "DROP TABLE t; CREATE TABLE t(k INTEGER PRIMARY KEY, v)");
  assert_refused(database_text(db, "SELECT job_claim('job', 'w', 10)"), "key of t is now rowid(k)");
  database_must(other, "DROP TABLE t");
  assert_refused(database_text(db, "SELECT * FROM job"), "no such table");
  database_must(db, "DROP TABLE job");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM sqlite_master"), 0);
  close_database(db);
  close_database(other);
  database_remove(path);
}

/*
** A job whose rows nobody can read hands out none. Otherwise all would end as failed, one by one.
*/
static void what_cannot_be_read_is_not_claimed(void **state) {
  (void)state;
  static const struct {
    const char *arguments;
    const char *change;
    const char *back;
    const char *why;
  } cases[] = {
      {"t", "ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO t", "no such table: t;"},
      {"t", "DROP TABLE t", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "no such table: t;"},
      {"t, key(id)", "ALTER TABLE t RENAME COLUMN id TO i", "ALTER TABLE t RENAME COLUMN i TO id",
       "there is no column id;"},
      {"t, where(v >= 0)", "ALTER TABLE t RENAME COLUMN v TO w",
       "ALTER TABLE t RENAME COLUMN w TO v", "no such column: v;"},
      {"t, columns(v AS value)", "ALTER TABLE t RENAME COLUMN v TO w",
       "ALTER TABLE t RENAME COLUMN w TO v", "there is no column v;"},
      {"t", "DROP TABLE t; CREATE VIEW t AS SELECT 1 AS id",
       "DROP VIEW t; CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "is a view"},
  };
  static const char *const calls[] = {
      "SELECT job_claim('job', 'w', 10)",
      "SELECT job_next('job', bundle, 'w') FROM mine",
      "SELECT job_done('job', bundle) FROM mine",
      "SELECT job_fail('job', bundle, 'no') FROM mine",
      "SELECT job_heartbeat('job', bundle) FROM mine",
      "SELECT job_release('job', bundle) FROM mine",
      "SELECT job_retry('job', bundle) FROM mine",
      "SELECT job_retry('job')",
      "SELECT job_rescan('job')",
      "SELECT rows FROM job_progress('job')",
      "SELECT first FROM mine, job_rowids('job', mine.bundle)",
      "SELECT count(*) FROM job",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sql[400];
    sqlite3 *db = database_open(":memory:", 0);
    snprintf(sql, sizeof sql,
             "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t SELECT value, 0" NUMBERS
             "; CREATE VIRTUAL TABLE job USING scan_job(%s, max_attempts(1));"
             "SELECT job_fail('job', job_claim('job', 'w', 1), 'bad');"
             "CREATE TEMP TABLE mine AS SELECT job_claim('job', 'w', 10) AS bundle",
             cases[i].arguments);
    database_must(db, sql);
    database_must(db, cases[i].change);
    for (size_t j = 0; j < sizeof calls / sizeof calls[0]; j++) {
      const char *answer = database_text(db, calls[j]);
      assert_refused(answer, cases[i].why);
      assert_refused(answer, "; job job reads that table: change it back, or drop the job");
    }
    assert_int_equal(
        database_integer(db, "SELECT count(*) FROM job_bundles WHERE state = 'failed'"), 1);
    database_must(db, cases[i].back);
    int64_t done = database_integer(db, "SELECT done FROM job_progress('job')");
    assert_string_equal(database_text(db, "SELECT job_done('job', bundle) FROM mine"), "1");
    assert_int_equal(database_integer(db, "SELECT done FROM job_progress('job')"), done + 1);
    assert_int_equal(database_integer(db, "SELECT job_retry('job')"), 1);
    database_must(db, cases[i].change);
    database_must(db, "DROP TABLE job");
    close_database(db);
  }
}

static void schemas_cannot_call_what_changes_jobs(void **state) {
  (void)state;
  static const char *const calls[] = {"job_claim('job', 'w')",      "job_done('job', '')",
                                      "job_heartbeat('job', '')",   "job_release('job', '')",
                                      "job_fail('job', '', 'why')", "job_retry('job')",
                                      "job_rescan('job')"};
  sqlite3 *db = database_open(":memory:", 0);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    char sql[200];
    snprintf(sql, sizeof sql, "CREATE VIEW v%d AS SELECT %s", (int)i, calls[i]);
    database_must(db, sql);
    snprintf(sql, sizeof sql, "SELECT * FROM v%d", (int)i);
    assert_refused(database_text(db, sql), "unsafe use of");
  }
  database_must(db, "CREATE VIEW p AS SELECT * FROM job_progress('job')");
  assert_refused(database_text(db, "SELECT * FROM p"), "unsafe use of");
  close_database(db);
}

static void the_table_itself_is_only_read(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(
      db, "CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE VIRTUAL TABLE job USING scan_job(t)");
  assert_refused(database_text(db, "INSERT INTO job VALUES (1)"), "may not be modified");
  assert_refused(database_text(db, "DELETE FROM job"), "may not be modified");
  assert_refused(database_text(db, "UPDATE job SET id = 1"), "may not be modified");
  assert_refused(database_text(db, "SELECT * FROM job WHERE restriction = 'x'"), "restriction");
  close_database(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_key),
      cmocka_unit_test(what_has_no_key_is_refused_with_the_reason),
      cmocka_unit_test(many_jobs_on_one_table_do_not_meet),
      cmocka_unit_test(names_that_need_quotes),
      cmocka_unit_test(attached_files_and_temp),
      cmocka_unit_test(a_job_survives_vacuum_backup_and_reopening),
      cmocka_unit_test(defensive_mode_protects_them_and_lets_jobs_work),
      cmocka_unit_test(renamed_and_made_anew),
      cmocka_unit_test(a_job_of_a_newer_version_is_left_alone),
      cmocka_unit_test(a_job_of_version_1_goes_on),
      cmocka_unit_test(a_job_of_version_2_goes_on),
      cmocka_unit_test(damage_is_reported_and_can_be_dropped),
      cmocka_unit_test(a_source_that_changes),
      cmocka_unit_test(what_cannot_be_read_is_not_claimed),
      cmocka_unit_test(schemas_cannot_call_what_changes_jobs),
      cmocka_unit_test(the_table_itself_is_only_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
