/*
** group_by_fields on one thread against SQLite's own GROUP BY over the same rows: 10, 1,000 and a
** million groups of an integer, a thousand of a text, and three aggregates. Both read all their
** groups through the same outer query, which adds them up.
**
** BENCH_ROWS sets the number of rows, of some 100 bytes each. Both sides use one thread and need
** not wait for I/O, so the processor time is compared: it depends less on what else runs. The
** connection has SQLite's default settings, except for a memory map of the file.
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
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs a query of one row of two columns, and gives the time and, as text, what it said. */
static double time_query(const char *sql, char *answer, size_t size) {
  sqlite3_stmt *stmt;
  double begin = seconds();
  check(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), sql);
  check(sqlite3_step(stmt), sql);
  snprintf(answer, size, "%s %s", (const char *)sqlite3_column_text(stmt, 0),
           (const char *)sqlite3_column_text(stmt, 1));
  sqlite3_finalize(stmt);
  return seconds() - begin;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#define TURNS 5

/* One line of the table: the medians of both, timed in turns. */
static void compare(const char *what, const char *ours, const char *theirs, const char *goal) {
  double a[TURNS], b[TURNS];
  for (int i = 0; i < TURNS; i++) {
    char answer[100], expected[100];
    a[i] = time_query(ours, answer, sizeof answer);
    b[i] = time_query(theirs, expected, sizeof expected);
    if (strcmp(answer, expected) != 0) {
      fprintf(stderr, "%s: %s instead of %s\n", what, answer, expected);
      exit(1);
    }
  }
  qsort(a, TURNS, sizeof *a, compare_doubles);
  qsort(b, TURNS, sizeof *b, compare_doubles);
  double here = a[TURNS / 2], there = b[TURNS / 2];
  printf("%s\t%.0f ms\t%.0f ms\t%.3f\t%s\n", what, here * 1e3, there * 1e3, here / there, goal);
  fflush(stdout);
}

static void make_table(long rows) {
  run("CREATE TABLE t(id INTEGER PRIMARY KEY, g10 INT, g1k INT, g1m INT, name TEXT, a INT, r REAL, "
      "filler TEXT)");
  sqlite3_stmt *stmt;
  check(sqlite3_prepare_v2(db,
                           "INSERT INTO t SELECT value, h % 10, h % 1000, h % 1000000, "
                           "'name of ' || (h % 1000), h % 12345, (h % 1000) / 8.0, "
                           "printf('%050d', value) "
                           "FROM (SELECT value, (value * 2654435761 >> 7) & 0x7fffffff AS h "
                           "FROM (WITH RECURSIVE n(value) AS (VALUES(0) UNION ALL SELECT value + 1 "
                           "FROM n WHERE value < ?1 - 1) SELECT value FROM n))",
                           -1, &stmt, NULL),
        "insert");
  sqlite3_bind_int64(stmt, 1, rows);
  check(sqlite3_step(stmt), "insert");
  sqlite3_finalize(stmt);
}

#define OURS(by, aggregates, sums)                                                              \
  "CREATE VIRTUAL TABLE temp.ours USING group_by_fields(t, by_field_names(" by "), " aggregates \
  ", workers(1))",                                                                              \
      "SELECT count(*), " sums " FROM ours"
#define THEIRS(by, aggregates, sums) \
  "SELECT count(*), " sums " FROM (SELECT " by ", " aggregates " FROM t GROUP BY " by ")"

int main(void) {
  static const struct {
    const char *what, *create, *ours, *theirs, *goal;
  } cases[] = {
#define CASE(what, by, aggregates, sums, goal) \
  {what, OURS(by, aggregates, sums), THEIRS(by, aggregates, sums), goal}
      CASE("group by 10 integers: count, sum; 1 thread", "g10", "count(*) AS c, sum(a) AS s",
           "sum(c) + sum(s)", "<= 0.25"),
      CASE("group by 1,000 integers: count, sum; 1 thread", "g1k", "count(*) AS c, sum(a) AS s",
           "sum(c) + sum(s)", "<= 0.25"),
      CASE("group by 1,000,000 integers: count, sum; 1 thread", "g1m", "count(*) AS c, sum(a) AS s",
           "sum(c) + sum(s)", "<= 0.33"),
      CASE("group by 1,000 texts: count, sum; 1 thread", "name", "count(*) AS c, sum(a) AS s",
           "sum(c) + sum(s)", ""),
      CASE("group by 1,000 integers: sum of REAL, min, max; 1 thread", "g1k",
           "sum(r) AS s, min(a) AS lo, max(a) AS hi", "sum(s) + sum(lo) + sum(hi)", ""),
  };
  const char *given = getenv("BENCH_ROWS"), *folder = getenv("TMPDIR");
  long rows = given != NULL ? atol(given) : 5000000;
  char path[1000];
  snprintf(path, sizeof path, "%s/bench_group_by_fields.db", folder != NULL ? folder : ".");
  remove(path);
  check(sqlite3_auto_extension((void (*)(void))sqlite3_tranche_init), "register");
  check(sqlite3_open(path, &db), path);
  run("PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA mmap_size = 4000000000");
  make_table(rows);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run(cases[i].create);
    compare(cases[i].what, cases[i].ours, cases[i].theirs, cases[i].goal);
    run("DROP TABLE temp.ours");
  }
  sqlite3_close(db);
  remove(path);
  return 0;
}
