/*
** What a job costs, at bundles of 1,000 rows, each done in one transaction.
**
** The same backfill, reading a table of 200,000 rows and writing a row of output for each, is done by hand
** (the next 1,000 rows behind the last id, output and position in one transaction) and by a job. Then the
** rows are only read, by one plain scan and by a job; and claiming and finishing bundles of which no row is
** read is timed alone. The file is in WAL mode with synchronous = NORMAL. tests/README.md says how to read
** what it prints.
*/
#include <time.h>

#include "database.h"

enum { ROUNDS = 7, ROWS = 200000, BUNDLE = 1000 };

static double now_in_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times) {
  qsort(times, ROUNDS, sizeof *times, compare_doubles);
  return times[ROUNDS / 2];
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
  }
  return stmt;
}

static void check(sqlite3 *db, int rc) {
  if (rc == SQLITE_OK) return;
  fprintf(stderr, "%d: %s\n", rc, sqlite3_errmsg(db));
  exit(1);
}

static void make_anew(sqlite3 *db) {
  database_must(db,
                "DROP TABLE IF EXISTS out; DROP TABLE IF EXISTS job; DROP TABLE IF EXISTS position;"
                "CREATE TABLE out(id INTEGER PRIMARY KEY, name TEXT);"
                "CREATE TABLE position(id INTEGER); INSERT INTO position VALUES (0);"
                "CREATE VIRTUAL TABLE job USING scan_job(events);"
                "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void take(sqlite3 *db, sqlite3_stmt *claim, char bundle[200]) {
  if (sqlite3_step(claim) != SQLITE_ROW) check(db, sqlite3_reset(claim));
  const char *text = (const char *)sqlite3_column_text(claim, 0);
  snprintf(bundle, 200, "%s", text == NULL ? "" : text);
  check(db, sqlite3_reset(claim));
}

/*
** Every bundle: claimed, `rows` of it run (or not), done in the same transaction. With `is_chained` that
** transaction claims the next one, too.
*/
static double time_job(sqlite3 *db, const char *rows_sql, int is_chained) {
  make_anew(db);
  sqlite3_stmt *claim = prepare(db, "SELECT job_claim('job', 'w', 1000, 60)");
  sqlite3_stmt *rows = rows_sql == NULL ? NULL : prepare(db, rows_sql);
  sqlite3_stmt *done = prepare(db, "SELECT job_done('job', ?1)");
  sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *commit = prepare(db, "COMMIT");
  char bundle[200];
  double start = now_in_ms();
  take(db, claim, bundle);
  while (bundle[0] != '\0') {
    check(db, database_step(begin, NULL, NULL));
    if (rows != NULL) check(db, database_step(rows, bundle, NULL));
    check(db, database_step(done, bundle, NULL));
    if (is_chained) take(db, claim, bundle);
    check(db, database_step(commit, NULL, NULL));
    if (!is_chained) take(db, claim, bundle);
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(claim);
  sqlite3_finalize(rows);
  sqlite3_finalize(done);
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  return time;
}

/* The same by hand, as one would without a job. */
static double time_by_hand(sqlite3 *db, const char *rows_sql) {
  make_anew(db);
  sqlite3_stmt *rows = prepare(db, rows_sql);
  sqlite3_stmt *move =
      prepare(db, "UPDATE position SET id = (SELECT max(id) FROM (SELECT id FROM events "
                  "WHERE id > position.id ORDER BY id LIMIT 1000))");
  double start = now_in_ms();
  for (int i = 0; i < ROWS / BUNDLE; i++) {
    database_must(db, "BEGIN IMMEDIATE");
    check(db, database_step(rows, NULL, NULL));
    check(db, database_step(move, NULL, NULL));
    database_must(db, "COMMIT");
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(rows);
  sqlite3_finalize(move);
  return time;
}

static double time_plain(sqlite3 *db) {
  double start = now_in_ms();
  database_must(db, "SELECT count(*), sum(length(name)) FROM events");
  return now_in_ms() - start;
}

static void print(const char *what, double *ours, double *theirs, const char *goal) {
  double here = median(ours), there = median(theirs);
  printf("%s\t%.1f ms\t%.1f ms\t%.3f\t%s\n", what, here, there, here / there, goal);
}

int main(void) {
  char path[512];
  double job[ROUNDS], chained[ROUNDS], hand[ROUNDS], read[ROUNDS], plain[ROUNDS], empty[ROUNDS];
  sqlite3 *db = database_open(database_path("bench_scan_job", path), 0);
  database_must(
      db,
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
      "CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT);"
      "INSERT INTO events SELECT value + 1, printf('%090d', value) FROM counting_input(200000)");
  const char *backfill = "INSERT INTO out SELECT id, upper(name) FROM job WHERE restriction = ?1";
  for (int i = 0; i < ROUNDS; i++) {
    hand[i] = time_by_hand(
        db, "INSERT INTO out SELECT id, upper(name) FROM events WHERE id > (SELECT id FROM "
            "position) ORDER BY id LIMIT 1000");
    job[i] = time_job(db, backfill, 0);
    chained[i] = time_job(db, backfill, 1);
    plain[i] = time_plain(db);
    read[i] = time_job(db, "SELECT count(*), sum(length(name)) FROM job WHERE restriction = ?1", 0);
    empty[i] = time_job(db, NULL, 0);
  }
  print("a backfill by a job of 1,000-row bundles, against the same by hand", job, hand, "");
  print("the same, each transaction claiming the next bundle", chained, hand, "");
  print("reading the rows by a job of 1,000-row bundles, against one plain scan", read, plain, "");
  print("claims and ends of 1,000-row bundles alone, against a backfill by hand", empty, hand, "");
  fprintf(stderr, "a claim and an end: %.1f us\n", median(empty) * 1000 * BUNDLE / ROWS);
  sqlite3_close(db);
  database_remove(path);
  return 0;
}
