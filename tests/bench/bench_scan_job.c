/*
** What a job costs, with bundles of 1,000 rows, against the same work done by hand.
**
** By hand is what people write: a program that keeps its position in a table of its own, and moves
** it in the transaction of the output. Both are timed in two ways: row by row, as by a program that
** computes something from each row, and with one INSERT ... SELECT for each bundle.
**
** Then the two parts of the difference are timed alone: reading the rows of bundles that are
** already claimed, and job_next in a transaction that is committed anyhow. job_next is also
** compared with a bare scan of a bundle's rows. bench_scan_job.py has the loop in Python. The table
** has 50,000 rows, the file is in WAL mode with synchronous = NORMAL. All statements are prepared
** once. tests/README.md says how to read what it prints.
*/
#include <time.h>

#include "database.h"

enum { ROUNDS = 31, ROWS = 50000, BUNDLE = 1000, BUNDLES = ROWS / BUNDLE };

/* The rows of bundle ?1, by the job's table and by ranges of rowids. */
#define OF_TABLE " FROM job WHERE restriction = ?1"
#define OF_ROWIDS \
  " FROM job_rowids('job', ?1) AS r CROSS JOIN events AS e ON e.id BETWEEN r.first AND r.last"

#define CLAIMS "SELECT job_next('job', ?1, 'w', 1000, 60)"

typedef char bundle_text[200];

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

static void check(sqlite3 *db, int rc) {
  if (rc == SQLITE_OK) return;
  fprintf(stderr, "%d: %s\n", rc, sqlite3_errmsg(db));
  exit(1);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  check(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL));
  return stmt;
}

static void run(sqlite3 *db, sqlite3_stmt *stmt) {
  check(db, database_step(stmt, NULL, NULL));
}

static void make_anew(sqlite3 *db) {
  database_must(db,
                "DROP TABLE IF EXISTS out; DROP TABLE IF EXISTS job; DROP TABLE IF EXISTS place;"
                "CREATE TABLE out(id INTEGER PRIMARY KEY, name TEXT);"
                "CREATE TABLE place(last INTEGER); INSERT INTO place VALUES (0);"
                "CREATE VIRTUAL TABLE job USING scan_job(events);"
                "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* Ends `bundle` ("": there is none yet) and makes it the next; "": there is no more. */
static void go_on(sqlite3 *db, sqlite3_stmt *claims, bundle_text bundle) {
  if (bundle[0] != '\0') check(db, sqlite3_bind_text(claims, 1, bundle, -1, SQLITE_STATIC));
  if (sqlite3_step(claims) != SQLITE_ROW) check(db, sqlite3_reset(claims));
  const char *text = (const char *)sqlite3_column_text(claims, 0);
  snprintf(bundle, sizeof(bundle_text), "%s", text == NULL ? "" : text);
  check(db, sqlite3_reset(claims));
}

/* --- Whole backfills ---------------------------------------------------------------------- */

static sqlite3_stmt *prepare_output(sqlite3 *db) {
  return prepare(db, "INSERT INTO out VALUES (?1, ?2)");
}

/* Writes the output for each row of `rows`; the last id. */
static int64_t write_each(sqlite3 *db, sqlite3_stmt *rows, sqlite3_stmt *output) {
  int64_t last = -1;
  int rc;
  while ((rc = sqlite3_step(rows)) == SQLITE_ROW) {
    last = sqlite3_column_int64(rows, 0);
    const char *name = (const char *)sqlite3_column_text(rows, 1);
    sqlite3_bind_int64(output, 1, last);
    sqlite3_bind_text(output, 2, name, sqlite3_column_bytes(rows, 1), SQLITE_TRANSIENT);
    run(db, output);
  }
  check(db, sqlite3_reset(rows));
  return last;
}

static double each_by_job(sqlite3 *db, const char *rows_sql) {
  make_anew(db);
  bundle_text bundle = "";
  sqlite3_stmt *claims = prepare(db, CLAIMS);
  sqlite3_stmt *rows = prepare(db, rows_sql);
  sqlite3_stmt *output = prepare_output(db);
  sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *commit = prepare(db, "COMMIT");
  double start = now_in_ms();
  for (go_on(db, claims, bundle); bundle[0] != '\0';) {
    run(db, begin);
    sqlite3_bind_text(rows, 1, bundle, -1, SQLITE_STATIC);
    write_each(db, rows, output);
    go_on(db, claims, bundle);
    run(db, commit);
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(claims);
  sqlite3_finalize(rows);
  sqlite3_finalize(output);
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  return time;
}

static double each_by_hand(sqlite3 *db) {
  make_anew(db);
  sqlite3_stmt *rows =
      prepare(db, "SELECT id, name FROM events WHERE id > ?1 ORDER BY id LIMIT 1000");
  sqlite3_stmt *output = prepare_output(db);
  sqlite3_stmt *move = prepare(db, "UPDATE place SET last = ?1");
  sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *commit = prepare(db, "COMMIT");
  double start = now_in_ms();
  for (int64_t last = database_integer(db, "SELECT last FROM place"); last >= 0;) {
    run(db, begin);
    sqlite3_bind_int64(rows, 1, last);
    last = write_each(db, rows, output);
    if (last >= 0) {
      sqlite3_bind_int64(move, 1, last);
      run(db, move);
    }
    run(db, commit);
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(rows);
  sqlite3_finalize(output);
  sqlite3_finalize(move);
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  return time;
}

static double all_by_job(sqlite3 *db, const char *output_sql) {
  make_anew(db);
  bundle_text bundle = "";
  sqlite3_stmt *claims = prepare(db, CLAIMS);
  sqlite3_stmt *output = prepare(db, output_sql);
  sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *commit = prepare(db, "COMMIT");
  double start = now_in_ms();
  for (go_on(db, claims, bundle); bundle[0] != '\0';) {
    run(db, begin);
    check(db, database_step(output, bundle, NULL));
    go_on(db, claims, bundle);
    run(db, commit);
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(claims);
  sqlite3_finalize(output);
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  return time;
}

/*
** By hand: with a position that is moved, or without anything that says how far it has come; or
** with the bookkeeping of a job, though the rows are read from the table.
*/
typedef enum place_kind { NO_PLACE, PLACE, JOB } place_kind;

static double all_by_hand(sqlite3 *db, place_kind kind) {
  make_anew(db);
  bundle_text bundle = "";
  int64_t last = 0;
  sqlite3_stmt *find = prepare(db, "SELECT id FROM events WHERE id > ?1 LIMIT 1 OFFSET 999");
  sqlite3_stmt *output =
      prepare(db, "INSERT INTO out SELECT id, upper(name) FROM events WHERE id > ?1 AND id <= ?2");
  sqlite3_stmt *move = prepare(db, "UPDATE place SET last = ?1");
  sqlite3_stmt *claims = prepare(db, CLAIMS);
  sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *commit = prepare(db, "COMMIT");
  double start = now_in_ms();
  if (kind == JOB) go_on(db, claims, bundle);
  for (int i = 0; i < BUNDLES; i++) {
    int64_t next = last + BUNDLE;
    run(db, begin);
    if (kind == PLACE) {
      sqlite3_bind_int64(find, 1, last);
      if (sqlite3_step(find) == SQLITE_ROW) next = sqlite3_column_int64(find, 0);
      check(db, sqlite3_reset(find));
      sqlite3_bind_int64(move, 1, next);
    }
    sqlite3_bind_int64(output, 1, last);
    sqlite3_bind_int64(output, 2, next);
    run(db, output);
    if (kind == PLACE) run(db, move);
    if (kind == JOB) go_on(db, claims, bundle);
    run(db, commit);
    last = next;
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(find);
  sqlite3_finalize(output);
  sqlite3_finalize(move);
  sqlite3_finalize(claims);
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  return time;
}

/* --- Reading alone ------------------------------------------------------------------------ */

/* Claims the whole table. */
static void claim_all(sqlite3 *db, bundle_text bundles[BUNDLES]) {
  make_anew(db);
  database_must(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *claims = prepare(db, CLAIMS);
  for (int i = 0; i < BUNDLES; i++) {
    bundles[i][0] = '\0';
    go_on(db, claims, bundles[i]);
  }
  sqlite3_finalize(claims);
  database_must(db, "COMMIT");
}

static double read_by_job(sqlite3 *db, bundle_text bundles[BUNDLES], const char *sql) {
  sqlite3_stmt *rows = prepare(db, sql);
  double start = now_in_ms();
  for (int i = 0; i < BUNDLES; i++) check(db, database_step(rows, bundles[i], NULL));
  double time = now_in_ms() - start;
  sqlite3_finalize(rows);
  return time;
}

static double read_by_hand(sqlite3 *db) {
  sqlite3_stmt *rows =
      prepare(db, "SELECT count(*), sum(length(name)) FROM events WHERE id > ?1 AND id <= ?2");
  double start = now_in_ms();
  for (int i = 0; i < BUNDLES; i++) {
    sqlite3_bind_int64(rows, 1, i * BUNDLE);
    sqlite3_bind_int64(rows, 2, (i + 1) * BUNDLE);
    run(db, rows);
  }
  double time = now_in_ms() - start;
  sqlite3_finalize(rows);
  return time;
}

/* --- The table ---------------------------------------------------------------------------- */

static void print_times(const char *what, double ours, double theirs, const char *goal) {
  printf("%s\t%.1f ms\t%.1f ms\t%.3f\t%s\n", what, ours, theirs, ours / theirs, goal);
}

static void print(const char *what, double *ours, double *theirs, const char *goal) {
  print_times(what, median(ours), median(theirs), goal);
}

int main(void) {
  char path[512];
  static bundle_text bundles[BUNDLES];
  double each[3][ROUNDS], all[3][ROUNDS], reading[3][ROUNDS], keeping[2][ROUNDS];
  sqlite3 *db = database_open(database_path("bench_scan_job", path), 0);
  database_must(
      db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
          "CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT);"
          "INSERT INTO events SELECT value + 1, printf('%090d', value) FROM counting_input(50000)");
  for (int i = 0; i < ROUNDS; i++) {
    each[0][i] = each_by_job(db, "SELECT id, name" OF_TABLE);
    each[1][i] = each_by_hand(db);
    each[2][i] = each_by_job(db, "SELECT id, name" OF_ROWIDS);
    all[0][i] = all_by_job(db, "INSERT INTO out SELECT id, upper(name)" OF_TABLE);
    all[1][i] = all_by_hand(db, PLACE);
    all[2][i] = all_by_job(db, "INSERT INTO out SELECT id, upper(name)" OF_ROWIDS);
    keeping[0][i] = all_by_hand(db, JOB);
    keeping[1][i] = all_by_hand(db, NO_PLACE);
    claim_all(db, bundles);
    reading[0][i] = read_by_job(db, bundles, "SELECT count(*), sum(length(name))" OF_TABLE);
    reading[1][i] = read_by_hand(db);
    reading[2][i] = read_by_job(db, bundles, "SELECT count(*), sum(length(name))" OF_ROWIDS);
  }
  static const char *const wholes[] = {
      "a backfill, row by row, against one that keeps its place in a table",
      "the same, its rows by job_rowids",
      "a backfill by INSERT ... SELECT, against one that keeps its place in a table",
      "the same, its rows by job_rowids",
  };
  print(wholes[0], each[0], each[1], "");
  print(wholes[1], each[2], each[1], "<= 1.10");
  print(wholes[2], all[0], all[1], "");
  print(wholes[3], all[2], all[1], "<= 1.10");
  print("transactions of output with job_next in them, against the same without", keeping[0],
        keeping[1], "");
  print("the rows of claimed bundles, against the same ranges of the table", reading[0], reading[1],
        "");
  print("the same by job_rowids", reading[2], reading[1], "<= 1.05");
  /* What is left when the output and its transactions are taken off. */
  double next = median(keeping[0]) - median(keeping[1]);
  print_times("job_next, against a bare scan of its 1,000 rows in C", next, median(reading[1]), "");
  fprintf(stderr, "job_next: %.1f us\n", next * 1000 / BUNDLES);
  sqlite3_close(db);
  database_remove(path);
  return 0;
}
