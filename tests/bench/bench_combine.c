/*
** What each combine function costs. A query that aggregates with it is compared with the same query
** with sum(), over REALs, INTEGERs and TEXT. Then merging and extracting stored accumulators are
** compared with summing a column of as many rows.
*/
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tranche.h"

enum { ROWS = 200000, GROUPS = 20000, TIMES = 9 };

static sqlite3 *db;

static void give_up(const char *sql) {
  fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) give_up(sql);
  return stmt;
}

/* Seconds to step through all rows. */
static double time_of(sqlite3_stmt *stmt) {
  double start = now();
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) continue;
  if (rc != SQLITE_DONE) give_up(sqlite3_sql(stmt));
  double seconds = now() - start;
  sqlite3_reset(stmt);
  return seconds;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Both queries in turns; medians, per row of `rows`. */
static void measure(const char *what, const char *ours, const char *theirs, int rows,
                    const char *goal) {
  double here[TIMES], there[TIMES];
  sqlite3_stmt *a = prepare(ours), *b = prepare(theirs);
  for (int i = 0; i < TIMES; i++) {
    here[i] = time_of(a);
    there[i] = time_of(b);
  }
  sqlite3_finalize(a);
  sqlite3_finalize(b);
  qsort(here, TIMES, sizeof *here, compare);
  qsort(there, TIMES, sizeof *there, compare);
  double x = here[TIMES / 2], y = there[TIMES / 2];
  printf("%s\t%.0f ns\t%.0f ns\t%.2f\t%s\n", what, x / rows * 1e9, y / rows * 1e9, x / y, goal);
  fflush(stdout);
}

static void run(const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) give_up(sql);
}

int main(void) {
  static const struct {
    const char *call, *theirs, *goal;
  } calls[] = {
      {"extract_output(sum_accumulator(x))", "sum(x)", "<= 1.50"},
      {"extract_output(sum_accumulator(i))", "sum(i)", "<= 1.50"},
      {"mean(x)", "sum(x)", "<= 1.80"},
      {"mean(w)", "sum(w)", "<= 1.80"},
      {"var_pop(x)", "sum(x)", "<= 2.00"},
      {"var_pop(i)", "sum(i)", "<= 2.00"},
      {"stddev_samp(w)", "sum(w)", "<= 2.00"},
      {"bit_xor(i)", "sum(i)", "<= 1.50"},
      {"extract_output(min_accumulator(x))", "sum(x)", ""},
      {"any_value(t)", "sum(x)", ""},
      {"top_largest(x, 10)", "sum(x)", "<= 1.80"},
      {"top_largest(x, 10000)", "sum(x)", ""},
      {"top_smallest(t, 10)", "sum(x)", ""},
      {"max_by(i, x)", "sum(x)", ""},
      {"latest(x, i)", "sum(x)", ""},
      {"sample(x, 10, i)", "sum(x)", ""},
      {"sample(x, 10)", "sum(x)", ""},
  };
  static const char *const merged[] = {"sum", "var_pop", "max", "bit_xor"};
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) return 1;
  if (sqlite3_tranche_init(db, NULL, NULL) != SQLITE_OK) return 1;
  char *fill =
      sqlite3_mprintf("CREATE TABLE rows(i INTEGER PRIMARY KEY, g, x REAL, w REAL, t TEXT);"
                      "INSERT INTO rows WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                      "FROM n WHERE i < %d)"
                      "SELECT i, i %% %d, abs(random() %% 100000) / 100.0, (random() %% 1000) * "
                      "1.1e-30 * (1 << abs(random() %% 62))"
                      " * (1 << abs(random() %% 62)), hex(randomblob(8)) FROM n;"
                      "CREATE TABLE accumulators AS SELECT g, sum_accumulator(x) AS sum, "
                      "var_pop_accumulator(x) AS var_pop,"
                      " max_accumulator(x) AS max, bit_xor_accumulator(i) AS bit_xor, "
                      "top_largest_accumulator(x, 10) AS top,"
                      " sample_accumulator(x, 10, i) AS sample FROM rows GROUP BY g;",
                      ROWS, GROUPS);
  if (fill == NULL) return 1;
  run(fill);
  sqlite3_free(fill);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    char *ours = sqlite3_mprintf("SELECT %s FROM rows", calls[i].call);
    char *theirs = sqlite3_mprintf("SELECT %s FROM rows", calls[i].theirs);
    char *what = sqlite3_mprintf("%s against %s, a row", calls[i].call, calls[i].theirs);
    measure(what, ours, theirs, ROWS, calls[i].goal);
    sqlite3_free(ours);
    sqlite3_free(theirs);
    sqlite3_free(what);
  }
  measure("mean(x) in 20,000 groups against sum(x), a row", "SELECT mean(x) FROM rows GROUP BY g",
          "SELECT sum(x) FROM rows GROUP BY g", ROWS, "");
  for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
    char *merge = sqlite3_mprintf("SELECT merge_accumulators(%s) FROM accumulators", merged[i]);
    char *extract =
        sqlite3_mprintf("SELECT count(extract_output(%s)) FROM accumulators", merged[i]);
    char *what = sqlite3_mprintf("merge %s against sum(g), an accumulator", merged[i]);
    measure(what, merge, "SELECT sum(g) FROM accumulators", GROUPS, "");
    sqlite3_free(what);
    what = sqlite3_mprintf("extract %s against sum(g), an accumulator", merged[i]);
    measure(what, extract, "SELECT sum(g) FROM accumulators", GROUPS, "");
    sqlite3_free(merge);
    sqlite3_free(extract);
    sqlite3_free(what);
  }
  measure("merge top_largest(x, 10) against sum(g), an accumulator",
          "SELECT merge_accumulators(top) FROM accumulators", "SELECT sum(g) FROM accumulators",
          GROUPS, "");
  measure("merge sample(x, 10, i) against sum(g), an accumulator",
          "SELECT merge_accumulators(sample) FROM accumulators", "SELECT sum(g) FROM accumulators",
          GROUPS, "");
  sqlite3_close(db);
  return 0;
}
