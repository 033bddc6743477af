/*
** scan_job: a source that is rebuilt between two claims, in the way that schemas are changed where
** ALTER TABLE does not suffice: a new table is made, the rows are copied, the old table is dropped.
** If the keys then mean something else, every use of the job is an error until the table is as it
** was. Otherwise the job goes on. In either case each row is done once.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

enum { ROWS = 24, DONE = 7, HELD = 5 };

/*
** A source: its columns, of which `v` tells the rows apart, the rest of its declaration, and its
** index.
*/
typedef struct shape {
  const char *columns;
  const char *options; /* after the parenthesis */
  const char *index;   /* statements after it; "" */
} shape;

/*
** Values for the columns a, b, k, id of row `n`: numbers whose text has another order, and texts
** that are no numbers.
*/
static const char values[] = "SELECT n * 7 % 24 AS a, 'b' || n % 3 AS b, printf('%d', n) AS k,"
                             " CAST('x' || n AS BLOB) AS x, n + 1 AS id, 100 - n AS other, n AS v"
                             " FROM (SELECT value AS n FROM counting_input(24))";

typedef struct rebuilding {
  shape before;
  const char *job; /* its arguments after the table */
  shape after;
  const char *refused; /* NULL: it continues */
} rebuilding;

#define UNIQUE_AB "CREATE UNIQUE INDEX ab ON t(a, b)"
#define AB_BEFORE {"a INTEGER, b TEXT, v", "", UNIQUE_AB}, ", key(a, b)"
#define AB_WITHOUT_ROWID \
  { "a INTEGER, b TEXT, v, PRIMARY KEY(a, b)", "WITHOUT ROWID", "" }
#define ID_BEFORE \
  { "id INTEGER PRIMARY KEY, v, other", "", "" }
#define K_BEFORE \
  { "k TEXT PRIMARY KEY, v", "WITHOUT ROWID", "" }
#define X_BEFORE \
  { "x BLOB PRIMARY KEY, v", "WITHOUT ROWID", "" }

static rebuilding rebuildings[] = {
    /* Types of a composite key. */
    {AB_BEFORE, {"a TEXT, b TEXT, v", "", UNIQUE_AB}, "now byte_key(a TEXT, b TEXT, rowid)"},
    {AB_BEFORE, {"a, b TEXT, v", "", UNIQUE_AB}, "now byte_key(a BLOB, b TEXT, rowid)"},
    {AB_BEFORE, {"a REAL, b TEXT, v", "", UNIQUE_AB}, "now byte_key(a REAL, b TEXT, rowid)"},
    {AB_BEFORE, {"a INTEGER, b INTEGER, v", "", UNIQUE_AB}, "now byte_key(a NUMERIC, b NUMERIC"},
    {AB_BEFORE, {"a INTEGER, b BLOB, v", "", UNIQUE_AB}, "now byte_key(a NUMERIC, b BLOB"},
    {AB_BEFORE, {"a BIGINT, b VARCHAR(10), v", "", UNIQUE_AB}, NULL},
    {AB_BEFORE, {"a DECIMAL(9, 0), b CLOB, v", "", UNIQUE_AB}, NULL},
    {AB_BEFORE, {"B TEXT, v, A INTEGER", "", UNIQUE_AB}, NULL},
    {AB_BEFORE, {"v DEFAULT 7, a INTEGER, b TEXT", "", UNIQUE_AB}, NULL},
    /* Collations. */
    {AB_BEFORE, {"a INTEGER, b TEXT COLLATE NOCASE, v", "", UNIQUE_AB}, "collation is not BINARY"},
    {AB_BEFORE,
     {"a INTEGER, b TEXT COLLATE NOCASE, v", "",
      "CREATE UNIQUE INDEX ab ON t(a, b COLLATE BINARY)"},
     NULL},
    {AB_BEFORE,
     {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(a, b COLLATE RTRIM)"},
     "collation is not BINARY"},
    /* The index. */
    {AB_BEFORE, {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(b, a)"}, "another order"},
    {AB_BEFORE, {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(a DESC, b DESC)"}, NULL},
    {AB_BEFORE, {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(a DESC, b)"}, NULL},
    {AB_BEFORE, {"a INTEGER, b TEXT, v, UNIQUE(a, b)", "", ""}, NULL},
    {AB_BEFORE, {"a INTEGER, b TEXT, v, PRIMARY KEY(a, b)", "", ""}, NULL},
    {AB_BEFORE, {"a INTEGER, b TEXT, v", "", ""}, "not unique"},
    {AB_BEFORE, {"a INTEGER, b TEXT, v", "", "CREATE INDEX ab ON t(a, b)"}, "not unique"},
    {AB_BEFORE, {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(a, b, v)"}, "not unique"},
    {AB_BEFORE,
     {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(a, b) WHERE v > 3"},
     "unique only in part"},
    {AB_BEFORE,
     {"a INTEGER, b TEXT, v", "", "CREATE UNIQUE INDEX ab ON t(a, lower(b))"},
     "not unique"},
    /* NULLs: only where there may be some does the rowid follow. */
    {AB_BEFORE,
     {"a INTEGER NOT NULL, b TEXT NOT NULL, v", "", UNIQUE_AB},
     "now byte_key(a NUMERIC, b TEXT)"},
    {AB_BEFORE, AB_WITHOUT_ROWID, "now byte_key(a NUMERIC, b TEXT)"},
    /* Rowid tables and others. */
    {{"a INTEGER NOT NULL, b TEXT NOT NULL, v", "", UNIQUE_AB},
     ", key(a, b)",
     AB_WITHOUT_ROWID,
     NULL},
    {AB_WITHOUT_ROWID,
     ", key(a, b)",
     {"a INTEGER NOT NULL, b TEXT NOT NULL, v", "", UNIQUE_AB},
     NULL},
    {AB_WITHOUT_ROWID,
     "",
     {"a INTEGER NOT NULL, b TEXT NOT NULL, v", "", UNIQUE_AB},
     "now rowid(rowid)"},
    {AB_WITHOUT_ROWID,
     "",
     {"a INTEGER, b TEXT, v, PRIMARY KEY(b, a)", "WITHOUT ROWID", ""},
     "now byte_key(b TEXT, a NUMERIC)"},
    {AB_WITHOUT_ROWID,
     "",
     {"a TEXT, b TEXT, v, PRIMARY KEY(a, b)", "WITHOUT ROWID", ""},
     "now byte_key(a TEXT, b TEXT)"},
    {AB_WITHOUT_ROWID,
     "",
     {"a INTEGER, b TEXT, v, PRIMARY KEY(a DESC, b DESC)", "WITHOUT ROWID", ""},
     NULL},
    {AB_WITHOUT_ROWID,
     "",
     {"a INTEGER, b TEXT, v, PRIMARY KEY(a DESC, b)", "WITHOUT ROWID", ""},
     NULL},
    {AB_WITHOUT_ROWID,
     "",
     {"a INTEGER, b TEXT, v ANY, PRIMARY KEY(a, b)", "STRICT, WITHOUT ROWID", ""},
     NULL},
    {{"k ANY NOT NULL, v ANY, PRIMARY KEY(k)", "STRICT, WITHOUT ROWID", ""},
     "",
     {"k ANY NOT NULL, v ANY, PRIMARY KEY(k)", "WITHOUT ROWID", ""},
     "now byte_key(k NUMERIC)"},
    /* Rowids: which column is one. */
    {ID_BEFORE, "", {"id INTEGER PRIMARY KEY AUTOINCREMENT, v", "", ""}, NULL},
    {ID_BEFORE, ", key(id)", {"v, id INTEGER PRIMARY KEY", "", ""}, NULL},
    {ID_BEFORE, "", {"id INTEGER, v, other INTEGER PRIMARY KEY", "", ""}, "now rowid(other)"},
    {ID_BEFORE, "", {"id INT PRIMARY KEY, v", "", ""}, "now rowid(rowid)"},
    {ID_BEFORE, "", {"id INTEGER, v", "", ""}, "now rowid(rowid)"},
    {ID_BEFORE, "", {"v, other", "", ""}, "now rowid(rowid)"},
    {ID_BEFORE, "", {"id INTEGER PRIMARY KEY, v", "WITHOUT ROWID", ""}, "now byte_key(id NUMERIC)"},
    {ID_BEFORE, ", key(id)", {"id INT PRIMARY KEY, v", "", ""}, "now byte_key(id NUMERIC, rowid)"},
    {ID_BEFORE, ", key(id)", {"id INTEGER, v", "", ""}, "not unique"},
    {{"id INTEGER, v", "", ""}, "", {"id INTEGER PRIMARY KEY, v", "", ""}, "now rowid(id)"},
    /* Keys of one column, whose form says the type. */
    {K_BEFORE, "", {"k VARCHAR(9) PRIMARY KEY, v", "WITHOUT ROWID", ""}, NULL},
    {K_BEFORE, "", {"k TEXT PRIMARY KEY DESC, v", "WITHOUT ROWID", ""}, NULL},
    {K_BEFORE, "", {"k INTEGER PRIMARY KEY, v", "WITHOUT ROWID", ""}, "now byte_key(k NUMERIC)"},
    {K_BEFORE, "", {"k BLOB PRIMARY KEY, v", "WITHOUT ROWID", ""}, "now blob(k)"},
    {K_BEFORE, "", {"k PRIMARY KEY, v", "WITHOUT ROWID", ""}, "now byte_key(k BLOB)"},
    {K_BEFORE, "", {"k TEXT COLLATE NOCASE PRIMARY KEY, v", "WITHOUT ROWID", ""}, "not BINARY"},
    {K_BEFORE, ", key(k)", {"k TEXT NOT NULL UNIQUE, v", "", ""}, NULL},
    {K_BEFORE, ", key(k)", {"k TEXT UNIQUE, v", "", ""}, "now text(k, rowid)"},
    {X_BEFORE, "", {"x PRIMARY KEY, v", "WITHOUT ROWID", ""}, "now byte_key(x BLOB)"},
    {X_BEFORE, "", {"x TEXT PRIMARY KEY, v", "WITHOUT ROWID", ""}, "now text(x)"},
    {{"a INTEGER NOT NULL UNIQUE, v", "", ""},
     ", key(a)",
     {"a TEXT NOT NULL UNIQUE, v", "", ""},
     "now text(a)"},
    {{"a INTEGER NOT NULL UNIQUE, v", "", ""},
     ", key(a)",
     {"a NOT NULL UNIQUE, v", "", ""},
     "now byte_key(a BLOB)"},
    {{"a INTEGER NOT NULL UNIQUE, v", "", ""},
     ", key(a)",
     {"a REAL NOT NULL UNIQUE, v", "", ""},
     "now byte_key(a REAL)"},
    {{"k TEXT NOT NULL UNIQUE, v", "", ""},
     ", key(byte_key(k))",
     {"k NUMERIC NOT NULL UNIQUE, v", "", ""},
     "now byte_key(k NUMERIC)"},
};

/* Who rebuilds the table. */
typedef enum who { ITSELF, ANOTHER, BEFORE_IT_IS_OPENED, WHO } who;

/* Makes `t` with that shape and the rows of the one before. Rows that do not exist yet are made. */
static void build(sqlite3 *db, const shape *s, int is_new) {
  char sql[1200];
  snprintf(sql, sizeof sql, "CREATE TABLE new_t(%s) %s", s->columns, s->options);
  database_must(db, sql);
  const char *columns = database_text(
      db, "SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('new_t'))");
  snprintf(sql, sizeof sql, "INSERT INTO new_t(%s) SELECT %s FROM (%s) ORDER BY v", columns,
           columns, values);
  database_must(db, sql);
  if (!is_new) database_must(db, "DROP TABLE t");
  database_must(db, "ALTER TABLE new_t RENAME TO t");
  database_must(db, s->index);
}

static const char *claim(sqlite3 *db, int keys) {
  char sql[100];
  snprintf(sql, sizeof sql, "SELECT job_claim('job', 'w', %d)", keys);
  return database_text(db, sql);
}

static const char *finish(sqlite3 *db, const char *bundle) {
  char sql[600];
  snprintf(sql, sizeof sql, "INSERT INTO out SELECT v FROM job WHERE restriction = '%s'", bundle);
  database_must(db, "BEGIN IMMEDIATE");
  int is_written = database_run(db, sql) == SQLITE_OK;
  const char *written = is_written ? "1" : sqlite3_errmsg(db);
  snprintf(sql, sizeof sql, "SELECT job_done('job', '%s', 'w')", bundle);
  const char *done = database_text(db, sql);
  database_must(db, is_written && strcmp(done, "1") == 0 ? "COMMIT" : "ROLLBACK");
  return is_written ? done : written;
}

static void finish_all(sqlite3 *db) {
  char bundle[300];
  while (snprintf(bundle, sizeof bundle, "%s", claim(db, 4)) > 0) {
    assert_string_equal(finish(db, bundle), "1");
  }
  assert_string_equal(database_text(db, "SELECT count(*) || ' ' || count(DISTINCT v) FROM out"),
                      "24 24");
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
}

static void assert_refused(sqlite3 *db, const char *sql, const char *why) {
  const char *answer = database_text(db, sql);
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("%s: '%s' instead of an error with '%s'", sql, answer, why);
  }
}

static void every_use_is_refused(sqlite3 *db, const char *bundle, const char *why) {
  static const char *const uses[] = {
      "SELECT count(*) FROM job",
      "SELECT count(*) FROM job WHERE restriction = '%s'",
      "SELECT job_claim('job', 'w', 4)",
      "SELECT job_next('job', '%s', 'w', 4)",
      "SELECT job_done('job', '%s', 'w')",
      "SELECT job_heartbeat('job', '%s', 60, 'w')",
      "SELECT job_release('job', '%s', 'w')",
      "SELECT job_fail('job', '%s', 'no', 'w')",
      "SELECT job_retry('job')",
      "SELECT job_rescan('job')",
      "SELECT rows FROM job_progress('job')",
  };
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    char *sql = sqlite3_mprintf(uses[i], bundle);
    assert_refused(db, sql, why);
    sqlite3_free(sql);
  }
}

/* What earlier versions wrote down of a key: no types, and not which column is the rowid. */
static const char as_earlier[] =
    "UPDATE job_job SET source_key = CASE WHEN source_key LIKE 'rowid(%' THEN 'rowid()' ELSE "
    "replace(replace(replace(source_key, ' NUMERIC', ''), ' TEXT', ''), ' BLOB', '') END";

static void rebuild(const rebuilding *r, who by, int is_earlier) {
  char path[512], sql[400], held[300];
  sqlite3 *db = database_open(database_path("rebuilt", path), 0);
  build(db, &r->before, 1);
  snprintf(sql, sizeof sql,
           "CREATE TABLE out(v); CREATE VIRTUAL TABLE job USING scan_job(t%s, columns(v))", r->job);
  database_must(db, sql);
  if (is_earlier) database_must(db, as_earlier);
  sqlite3 *other = database_open(path, 0);
  assert_string_equal(finish(db, claim(db, DONE)), "1");
  snprintf(held, sizeof held, "%s", claim(db, HELD));
  if (by == BEFORE_IT_IS_OPENED) assert_int_equal(sqlite3_close(db), SQLITE_OK);
  sqlite3 *builder = by == ITSELF ? db : other;
  build(builder, &r->after, 0);
  if (by == BEFORE_IT_IS_OPENED) db = database_open(path, 0);
  if (r->refused != NULL) {
    every_use_is_refused(db, held, r->refused);
    every_use_is_refused(other, held, r->refused);
    build(builder, &r->before, 0);
  }
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job"), ROWS);
  assert_string_equal(finish(db, held), "1");
  finish_all(db);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
  database_remove(path);
}

static void each_row_is_done_once(void **state) {
  const rebuilding *r = *state;
  for (int by = 0; by < WHO; by++) {
    rebuild(r, (who)by, 0);
    if (r->refused == NULL) rebuild(r, (who)by, 1);
  }
}

int main(void) {
  enum { CASES = sizeof rebuildings / sizeof rebuildings[0] };
  static char names[CASES][300];
  struct CMUnitTest tests[CASES];
  for (int i = 0; i < CASES; i++) {
    rebuilding *r = &rebuildings[i];
    snprintf(names[i], sizeof names[i], "t(%s) %s %s job(%s) -> t(%s) %s %s", r->before.columns,
             r->before.options, r->before.index, r->job, r->after.columns, r->after.options,
             r->after.index);
    tests[i] = (struct CMUnitTest){
        .name = names[i], .test_func = each_row_is_done_once, .initial_state = r};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
