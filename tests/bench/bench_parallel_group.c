/*
** group_by_fields with one and two workers (and all cores, if there are more) against SQLite's own
** GROUP BY over the same rows: 10, 1,000 and a million groups of integers, a thousand of text,
** three aggregates, a mean, a top 100. All read their groups through the same outer query.
** tests/run-bench also runs it with the newest SQLite, if there is one; each line says which SQLite
** it was.
**
** BENCH_ROWS sets the number of rows, of some 100 bytes each. Times are wall-clock times, so
** nothing else should run. The native query and ours take turns. The connection has SQLite's
** default settings, so no memory map (a second native figure has one).
*/
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tranche.h"

enum { TURNS = 5, WAYS = 5 };

static sqlite3 *plain, *mapped;

static void check(sqlite3 *db, int rc, const char *what) {
  if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return;
  fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

static void run(sqlite3 *db, const char *sql) {
  check(db, sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs a query of one row of two columns, and gives the time and, as text, what it said. */
static double time_query(sqlite3 *db, const char *sql, char *answer, size_t size) {
  sqlite3_stmt *stmt;
  double begin = seconds();
  check(db, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), sql);
  check(db, sqlite3_step(stmt), sql);
  snprintf(answer, size, "%s %s", (const char *)sqlite3_column_text(stmt, 0),
           (const char *)sqlite3_column_text(stmt, 1));
  sqlite3_finalize(stmt);
  return seconds() - begin;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct grouping {
  const char *what;
  const char *by, *aggregates; /* ours */
  const char *sums;            /* over the groups of both */
  const char *native; /* SQLite's for the aggregates; NULL: it has them by the same names */
  const char *goal;   /* two workers / native */
} grouping;

static const grouping groupings[] = {
    {"10 integers: count, sum", "g10", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)", NULL,
     "<= 0.125"},
    {"1,000 integers: count, sum", "g1k", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)", NULL,
     ""},
    {"1,000,000 integers: count, sum", "g1m", "count(*) AS c, sum(a) AS s", "sum(c) + sum(s)", NULL,
     "<= 0.143"},
    {"1,000 texts: count, sum, max of REAL", "name", "count(*) AS c, sum(a) AS s, max(r) AS m",
     "sum(c) + sum(s) + sum(m)", NULL, "<= 0.125"},
    {"1,000 integers: mean", "g1k", "mean(a) AS m", "round(sum(m), 3)", "avg(a) AS m", ""},
    {"1,000 integers: top 100", "g1k", "top_largest(a, 100) AS t", "sum(json_array_length(t))",
     "json_group_array(a) AS t", ""},
};

/* SQLite has no top 100: there the best way is a window function. */
static const char top_native[] =
    "SELECT count(DISTINCT g1k), count(*) FROM (SELECT g1k, a, row_number() OVER "
    "(PARTITION BY g1k ORDER BY a DESC) AS n FROM t) WHERE n <= 100";

static void compare(const grouping *g) {
  static const int workers[] = {0, 0, 1, 2, 0};
  double times[WAYS][TURNS];
  char answers[WAYS][100];
  int ways = sysconf(_SC_NPROCESSORS_ONLN) > 2 ? 5 : 4;
  for (int turn = 0; turn < TURNS; turn++) {
    for (int way = 0; way < ways; way++) {
      sqlite3 *db = way == 1 ? mapped : plain;
      char *sql;
      int is_ours = way >= 2;
      if (is_ours) {
        char clause[40] = "";
        if (workers[way] > 0) snprintf(clause, sizeof clause, ", workers(%d)", workers[way]);
        sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.ours USING group_by_fields(t, "
                              "by_field_names(%s), %s%s)",
                              g->by, g->aggregates, clause);
        run(db, sql);
        sqlite3_free(sql);
        sql = sqlite3_mprintf("SELECT count(*), %s FROM ours", g->sums);
      } else if (strstr(g->aggregates, "top_largest") != NULL) {
        sql = sqlite3_mprintf("%s", top_native);
      } else {
        sql = sqlite3_mprintf("SELECT count(*), %s FROM (SELECT %s, %s FROM t GROUP BY %s)",
                              g->sums, g->by, g->native == NULL ? g->aggregates : g->native, g->by);
      }
      times[way][turn] = time_query(db, sql, answers[way], sizeof answers[way]);
      sqlite3_free(sql);
      if (is_ours) run(db, "DROP TABLE temp.ours");
      if (strcmp(answers[way], answers[0]) != 0) {
        fprintf(stderr, "%s: %s instead of %s\n", g->what, answers[way], answers[0]);
        exit(1);
      }
    }
  }
  double median[WAYS];
  for (int way = 0; way < ways; way++) {
    qsort(times[way], TURNS, sizeof times[way][0], compare_doubles);
    median[way] = times[way][TURNS / 2];
  }
  for (int way = 2; way < ways; way++) {
    char name[120];
    if (way == 4)
      snprintf(name, sizeof name, "group by %s; all cores; SQLite %s", g->what,
               sqlite3_libversion());
    else
      snprintf(name, sizeof name, "group by %s; %d worker%s; SQLite %s", g->what, workers[way],
               workers[way] == 1 ? "" : "s", sqlite3_libversion());
    printf("%s\t%.0f ms\t%.0f ms (mapped %.0f)\t%.3f (%.1f times)\t%s\n", name, median[way] * 1e3,
           median[0] * 1e3, median[1] * 1e3, median[way] / median[0], median[0] / median[way],
           way == 3 ? g->goal : "");
  }
  fflush(stdout);
}

static void make_table(sqlite3 *db, long rows) {
  run(db,
      "PRAGMA journal_mode = off; PRAGMA synchronous = off;"
      "CREATE TABLE t(id INTEGER PRIMARY KEY, g10 INT, g1k INT, g1m INT, name TEXT, a INT, r REAL, "
      "filler TEXT)");
  sqlite3_stmt *stmt;
  const char *sql = "INSERT INTO t SELECT value, h % 10, h % 1000, h % 1000000, "
                    "'name of ' || (h % 1000), h % 12345, (h % 1000) / 8.0, "
                    "printf('%050d', value) "
                    "FROM (SELECT value, (value * 2654435761 >> 7) & 0x7fffffff AS h "
                    "FROM counting_input WHERE value < ?1)";
  check(db, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), "insert");
  sqlite3_bind_int64(stmt, 1, rows);
  check(db, sqlite3_step(stmt), "insert");
  sqlite3_finalize(stmt);
}

int main(void) {
  const char *given = getenv("BENCH_ROWS"), *folder = getenv("TMPDIR");
  long rows = given != NULL ? atol(given) : 5000000;
  char path[1000];
  snprintf(path, sizeof path, "%s/bench_parallel_group.db", folder != NULL ? folder : ".");
  remove(path);
  check(NULL, sqlite3_auto_extension((void (*)(void))sqlite3_tranche_init), "register");
  check(plain, sqlite3_open(path, &plain), path);
  make_table(plain, rows);
  sqlite3_close(plain);
  check(plain, sqlite3_open(path, &plain), path);
  check(mapped, sqlite3_open(path, &mapped), path);
  run(mapped, "PRAGMA mmap_size = 4000000000");
  for (size_t i = 0; i < sizeof groupings / sizeof *groupings; i++) compare(&groupings[i]);
  sqlite3_close(plain);
  sqlite3_close(mapped);
  remove(path);
  return 0;
}
