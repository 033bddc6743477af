/*
** byte_key_scan against the native scan of the same rows. Both run the same query, over the scan
** and over the table: all rows, every one claimed, by several kinds of key; one row in a hundred,
** by a filter that goes into the inner statement; and a small range of keys. Also scan_splits
** against a sum over the table.
**
** BENCH_ROWS sets the number of rows, of some 100 bytes each. The connection has SQLite's default
** settings, except for a memory map of the file.
*/
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tranche.h"

static sqlite3 *db;

static void check(int rc, const char *what) {
  if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return;
  fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

static void run(const char *sql) {
  check(sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs a query to its end. Returns the time and, for comparison, a sum over its result. */
static double time_query(const char *sql, sqlite3_int64 *answer) {
  sqlite3_stmt *stmt;
  int rc;
  *answer = 0;
  double begin = seconds();
  check(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), sql);
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    *answer +=
        sqlite3_column_int64(stmt, 0) + sqlite3_column_bytes(stmt, sqlite3_column_count(stmt) - 1);
  }
  check(rc, sql);
  sqlite3_finalize(stmt);
  return seconds() - begin;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { TURNS = 7 };

/* One line of the table: the medians of both, timed in turns. `query` has %s for the table. */
static void compare(const char *what, const char *query, const char *scan, const char *table,
                    const char *goal) {
  double a[TURNS], b[TURNS];
  char ours[500], theirs[500];
  snprintf(ours, sizeof ours, query, scan);
  snprintf(theirs, sizeof theirs, query, table);
  for (int i = 0; i < TURNS; i++) {
    sqlite3_int64 answer, expected;
    a[i] = time_query(ours, &answer);
    b[i] = time_query(theirs, &expected);
    if (answer != expected) {
      fprintf(stderr, "%s: %lld instead of %lld\n", what, answer, expected);
      exit(1);
    }
  }
  qsort(a, TURNS, sizeof *a, compare_doubles);
  qsort(b, TURNS, sizeof *b, compare_doubles);
  double here = a[TURNS / 2], there = b[TURNS / 2];
  printf("%s\t%.3f ms\t%.3f ms\t%.3f\t%s\n", what, here * 1e3, there * 1e3, here / there, goal);
  fflush(stdout);
}

static void make_tables(long rows) {
  char sql[2000];
  snprintf(
      sql, sizeof sql,
      "CREATE TABLE n AS WITH RECURSIVE n(value) AS (VALUES(0) UNION ALL SELECT value + 1 FROM n "
      "WHERE value < %ld) SELECT value, (value * 2654435761 >> 7) & 0x7fffffff AS h FROM n;"
      "CREATE TABLE t(id INTEGER PRIMARY KEY, user INT, bucket INT, cost REAL, country TEXT, "
      "  filler TEXT);"
      "INSERT INTO t SELECT value, h %% 100000, h %% 100, (h %% 1000) / 8.0, 'c' || (h %% 200), "
      "  printf('%%050d', value) FROM n;"
      "CREATE TABLE u(k TEXT PRIMARY KEY, bucket INT, cost REAL, filler TEXT) WITHOUT ROWID;"
      "INSERT INTO u SELECT printf('%%08x-%%08x', h, value), h %% 100, (h %% 1000) / 8.0, "
      "  printf('%%050d', value) FROM n;"
      "CREATE TABLE c(user INT, at INT, bucket INT, cost REAL, filler TEXT, "
      "  PRIMARY KEY(user, at)) WITHOUT ROWID;"
      "INSERT INTO c SELECT h %% 1000, value, h %% 100, (h %% 1000) / 8.0, printf('%%050d', value) "
      "  FROM n;"
      "CREATE VIRTUAL TABLE temp.st USING byte_key_scan(t);"
      "CREATE VIRTUAL TABLE temp.su USING byte_key_scan(u);"
      "CREATE VIRTUAL TABLE temp.sc USING byte_key_scan(c);",
      rows - 1);
  run(sql);
}

int main(void) {
  static const struct {
    const char *what, *query, *scan, *table, *goal;
  } cases[] = {
      {"scan by rowid: sum of 2 columns", "SELECT sum(user), sum(cost) FROM %s", "st", "t",
       "<= 1.75"},
      {"scan by rowid: each row of 3 columns", "SELECT user, cost, country FROM %s", "st", "t",
       "<= 1.75"},
      {"scan by rowid: each row, all 6 columns", "SELECT * FROM %s", "st", "t", "<= 1.75"},
      {"scan by rowid: one row in 100 (integer)", "SELECT user, cost FROM %s WHERE bucket = 7",
       "st", "t", "<= 1.05"},
      {"scan by rowid: one row in 200 (text)", "SELECT user, cost FROM %s WHERE country = 'c7'",
       "st", "t", "<= 1.05"},
      {"scan by rowid: 1,000 keys", "SELECT user FROM %s WHERE id BETWEEN 50000 AND 50999", "st",
       "t", ""},
      {"scan by text key: sum of 2 columns", "SELECT sum(bucket), sum(cost) FROM %s", "su", "u",
       "<= 1.75"},
      {"scan by (user, at): sum of 2 columns", "SELECT sum(bucket), sum(cost) FROM %s", "sc", "c",
       "<= 1.75"},
      {"scan by (user, at): one user in 1,000", "SELECT cost FROM %s WHERE user = 77", "sc", "c",
       ""},
  };
  const char *given = getenv("BENCH_ROWS"), *folder = getenv("TMPDIR");
  long rows = given != NULL ? atol(given) : 1000000;
  char path[1000];
  snprintf(path, sizeof path, "%s/bench_byte_key_scan.db", folder != NULL ? folder : ".");
  remove(path);
  check(sqlite3_auto_extension((void (*)(void))sqlite3_tranche_init), "register");
  check(sqlite3_open(path, &db), path);
  run("PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA mmap_size = 4000000000");
  make_tables(rows);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    compare(cases[i].what, cases[i].query, cases[i].scan, cases[i].table, cases[i].goal);
  }
  compare("scan_splits(table, 8), against a sum over the table", "SELECT sum(%s",
          "rows) FROM scan_splits('t', 8)", "1) FROM (SELECT user FROM t)", "");
  sqlite3_close(db);
  remove(path);
  return 0;
}
