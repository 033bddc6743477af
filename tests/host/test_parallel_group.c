/*
** group_by_fields on several threads: the same rows as on one, byte for byte; only where that is proved;
** and what the caller has a say in (authorizer, interrupt, progress handler, closing) holds for all.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "effort.h"
#include "tranche.h"

/* --- databases ------------------------------------------------------------------------------------ */

/* A folder of the test's own, removed with what is in it. */
static char folder[200];

static char *path_of(const char *name) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/parallel_group_XXXXXX", parent == NULL ? "/tmp" : parent);
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static sqlite3 *open_with(const char *name, int flags) {
  sqlite3 *db;
  if (sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_URI, NULL) != SQLITE_OK) {
    fail_msg("%s: %s", name, sqlite3_errmsg(db));
  }
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  sqlite3_busy_timeout(db, 10000);
  return db;
}

static sqlite3 *open_db(const char *name) {
  return open_with(path_of(name), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

/* All rows as text, each value with its type: what is equal here is equal to the byte. */
static char *rows_of(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    return sqlite3_mprintf("error: %s", sqlite3_errmsg(db));
  }
  sqlite3_str *text = sqlite3_str_new(NULL);
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      int type = sqlite3_column_type(stmt, i);
      sqlite3_str_appendf(text, "%c", " ifsbn"[type]);
      if (type == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(stmt, i);
        for (int j = 0; j < sqlite3_column_bytes(stmt, i); j++) {
          sqlite3_str_appendf(text, "%02x", bytes[j]);
        }
      } else if (type == SQLITE_FLOAT) {
        sqlite3_str_appendf(text, "%!.17g", sqlite3_column_double(stmt, i));
      } else {
        sqlite3_str_appendf(text, "%s", (const char *)sqlite3_column_text(stmt, i));
      }
      sqlite3_str_appendchar(text, 1, '|');
    }
    sqlite3_str_appendchar(text, 1, '\n');
  }
  if (rc != SQLITE_DONE) {
    sqlite3_str_reset(text);
    sqlite3_str_appendf(text, "error: %s", sqlite3_errmsg(db));
  }
  sqlite3_finalize(stmt);
  char *all = sqlite3_str_finish(text);
  return all == NULL ? sqlite3_mprintf("") : all;
}

static void assert_rows(sqlite3 *db, const char *sql, const char *expected) {
  char *rows = rows_of(db, sql);
  if (strcmp(rows, expected) != 0)
    fail_msg("%s:\n%.2000s\ninstead of\n%.2000s", sql, rows, expected);
  sqlite3_free(rows);
}

/* Rows of i = 1 to n: an integer, a REAL, text, mixed types, and NULLs here and there. */
static void fill(sqlite3 *db, const char *table, long n) {
  char *sql = sqlite3_mprintf(
      "INSERT INTO %s SELECT value, (value * 7919) %% 13, "
      "CASE WHEN value %% 11 = 0 THEN NULL ELSE (value * 31337 %% 1000003) / 8.0 END, "
      "printf('name %%d', value * 7 %% 101), "
      "CASE value %% 5 WHEN 0 THEN value %% 10 WHEN 1 THEN (value %% 10) * 1.0 "
      "WHEN 2 THEN printf('%%d', value %% 10) WHEN 3 THEN NULL ELSE CAST(value %% 10 AS BLOB) END, "
      "CASE WHEN value %% 3 = 0 THEN 'Ab ' ELSE 'aB' END "
      "FROM counting_input(%ld, 1)",
      table, n + 1);
  run(db, sql);
  sqlite3_free(sql);
}

#define COLUMNS \
  "id INTEGER PRIMARY KEY, g INT, r REAL, name TEXT, mixed, folded TEXT COLLATE NOCASE"

/* --- the same rows --------------------------------------------------------------------------------- */

typedef struct query {
  const char *by; /* clauses of the key */
  const char *aggregates;
  const char *order;  /* that makes rows comparable */
  const char *native; /* SQLite's own query for the same, or NULL */
} query;

static const query queries[] = {
    {"by_field_names(g)", "count(*) AS c, sum(id) AS s, min(r) AS lo, max(r) AS hi", "1",
     "SELECT g, count(*), sum(id), min(r), max(r) FROM t GROUP BY g ORDER BY 1"},
    {"by_field_names(g, name)", "count(r) AS c, sum(id) AS s", "1, 2",
     "SELECT g, name, count(r), sum(id) FROM t GROUP BY g, name ORDER BY 1, 2"},
    {"by_field_names(id)", "sum(g) AS s", "1", "SELECT id, sum(g) FROM t GROUP BY id ORDER BY 1"},
    {"by_field_names(mixed)", "count(*) AS c, sum(id) AS s", "1",
     "SELECT mixed, count(*), sum(id) FROM t GROUP BY mixed ORDER BY 1"},
    {"by_field_names(folded)", "count(*) AS c", "1",
     "SELECT folded, count(*) FROM t GROUP BY folded ORDER BY 1"},
    {"by_field_names(id % 7 AS e)", "count(*) AS c", "1",
     "SELECT id % 7, count(*) FROM t GROUP BY 1 ORDER BY 1"},
    {"by_field_names(lower(name) AS e)", "count(*) AS c", "1",
     "SELECT lower(name), count(*) FROM t GROUP BY 1 ORDER BY 1"},
    {"globally()", "count(*) AS c, sum(id) AS s", "1", "SELECT count(*), sum(id) FROM t"},
    {"by_field_names(g)", "count(*) AS c, where(r > 50000 AND name LIKE '%7')", "1",
     "SELECT g, count(*) FROM t WHERE r > 50000 AND name LIKE '%7' GROUP BY g ORDER BY 1"},
    {"by_field_names(g)", "count(*) AS c, where(0)", "1",
     "SELECT g, count(*) FROM t WHERE 0 GROUP BY g"},
    {"globally()", "count(*) AS c, sum(id) AS s, where(0)", "1",
     "SELECT count(*), sum(id) FROM t WHERE 0"},
    {"by_field_names(g)",
     "sum(r) AS s, mean(r) AS m, var_samp(r) AS v, stddev_pop(r) AS d, bit_xor(id) AS x", "1",
     NULL},
    {"by_field_names(g)",
     "top_largest(r, 3) AS t, top_smallest(name, 2) AS u, max_by(name, r) AS b, latest(name, id) "
     "AS l",
     "1", NULL},
    {"by_field_names(g)",
     "sample(id, 5) AS s, any_value(name) AS a, approx_count_distinct(id) AS d", "1", NULL},
    {"by_field_names(name)", "sum(r) AS s, mean(id) AS m, emit(accumulators)", "1", NULL},
    {"by_field_names(g)", "max(name) AS m, min(mixed) AS n, max(mixed) AS x", "1", NULL},
};
#define QUERIES (sizeof queries / sizeof *queries)

/* The rows of a query over `source` with so many workers. */
static char *group(sqlite3 *db, const char *source, const query *q, int workers) {
  char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.o USING group_by_fields(%s, %s, %s, "
                              "workers(%d))",
                              source, q->by, q->aggregates, workers);
  run(db, sql);
  sqlite3_free(sql);
  sql = sqlite3_mprintf("SELECT * FROM o ORDER BY %s", q->order);
  char *rows = rows_of(db, sql);
  sqlite3_free(sql);
  run(db, "DROP TABLE temp.o");
  return rows;
}

/* Whether the last run was parallel: else the reason why not. */
static const char *last_reason(sqlite3 *db) {
  static char reason[200];
  char *rows =
      rows_of(db, "SELECT iif(reason IS NULL, 'parallel', reason) FROM tranche_last_run()");
  snprintf(reason, sizeof reason, "%.*s", (int)strcspn(rows + 1, "|"), rows + 1);
  sqlite3_free(rows);
  return reason;
}

static void same_rows_with_any_number_of_workers(void **state) {
  (void)state;
  static const char *const sources[] = {
      "CREATE TABLE t(" COLUMNS ")",
      "CREATE TABLE t(id INT, g INT, r REAL, name TEXT, mixed, folded TEXT COLLATE NOCASE, "
      "PRIMARY KEY(name, id)) WITHOUT ROWID",
      "CREATE TABLE t(id INT, g INT, r REAL, name TEXT, mixed, folded TEXT COLLATE NOCASE, "
      "PRIMARY KEY(name DESC, g DESC, id DESC)) WITHOUT ROWID",
  };
  static const int workers[] = {2, 3, 16};
  for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
    sqlite3 *db = open_db("same.db");
    run(db, "PRAGMA synchronous = off; DROP TABLE IF EXISTS t");
    run(db, sources[s]);
    fill(db, "t", test_effort(40000) + 2000);
    for (size_t i = 0; i < QUERIES; i++) {
      char *one = group(db, "t", &queries[i], 1);
      if (queries[i].native != NULL) assert_rows(db, queries[i].native, one);
      for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        char *many = group(db, "t", &queries[i], workers[w]);
        assert_string_equal(last_reason(db), "parallel");
        if (strcmp(one, many) != 0) {
          fail_msg("%s, %s with %d workers:\n%.1000s\ninstead of\n%.1000s", queries[i].by,
                   queries[i].aggregates, workers[w], many, one);
        }
        sqlite3_free(many);
      }
      sqlite3_free(one);
    }
    sqlite3_close(db);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_rows_with_any_number_of_workers),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
