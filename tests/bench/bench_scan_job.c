/*
** What a job costs, with bundles of 1,000 rows, against the same work done by hand.
**
** By hand is what people write: a program that keeps its position in a table of its own, and moves
** it in the transaction of the output. Both are timed in two ways: row by row, as by a program that
** computes something from each row, and with one INSERT ... SELECT for each bundle.
**
** Then the two parts of the difference are timed alone: reading the rows of bundles that are
** already claimed, and job_next in a transaction that is committed anyhow. job_next is also
** compared with a bare scan of a bundle's rows, and so is the least that can be done by hand: an
** UPDATE of one row. bench_scan_job.py has the loop in Python.
**
** The sides take turns, a bundle each, and each of them is first in turns. What is shown is the
** median of a bundle by hand, and that plus the median of the differences: what is to be seen is a
** few percent, and two runs of the same loop differ by more. Each side has a file of its own, with
** a table of 50,000 rows, in WAL mode with synchronous = NORMAL, and makes a checkpoint at the end,
** of which each bundle's part counts by hand. (A job's has two or three pages more in it, of a
** thousand.) All statements are prepared once. tests/README.md says how to read what it prints.
*/
#include <time.h>

#include "database.h"

enum { ROUNDS = 31, ROWS = 50000, BUNDLE = 1000, BUNDLES = ROWS / BUNDLE, SIDES = 3 };

/* --- A side ------------------------------------------------------------------------------- */

typedef char bundle_text[200];

/* One who works through the table of a file, and how far he has come. */
typedef struct side {
  const char *rows_sql; /* of a bundle: its rows, or all of its output */
  void (*work)(struct side *side);
  char path[512];
  sqlite3 *db;
  sqlite3_stmt *rows;
  sqlite3_stmt *output;
  sqlite3_stmt *claims;
  sqlite3_stmt *find;
  sqlite3_stmt *move;
  sqlite3_stmt *begin;
  sqlite3_stmt *commit;
  bundle_text bundles[BUNDLES + 1]; /* claimed so far */
  int at;                           /* the bundle to work on */
  int64_t last; /* the last row that was worked on, where the place is kept by hand */
  double times[ROUNDS * BUNDLES];
  double checkpoints[ROUNDS * BUNDLES]; /* for each bundle its part; 0 of those who only read */
} side;

static void check(sqlite3 *db, int rc) {
  if (rc == SQLITE_OK) return;
  fprintf(stderr, "%d: %s\n", rc, sqlite3_errmsg(db));
  exit(1);
}

static sqlite3_stmt *prepare(const side *s, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  check(s->db, sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL));
  return stmt;
}

static void run(const side *s, sqlite3_stmt *stmt) {
  check(s->db, database_step(stmt, NULL, NULL));
}

/* Ends the bundle at hand, if it is not the first, and claims the next; "": there is no more. */
static void go_on(side *s) {
  const char *done = s->at == 0 ? NULL : s->bundles[s->at - 1];
  if (done != NULL) check(s->db, sqlite3_bind_text(s->claims, 1, done, -1, SQLITE_STATIC));
  if (sqlite3_step(s->claims) != SQLITE_ROW) check(s->db, sqlite3_reset(s->claims));
  const char *text = (const char *)sqlite3_column_text(s->claims, 0);
  snprintf(s->bundles[s->at], sizeof(bundle_text), "%s", text == NULL ? "" : text);
  check(s->db, sqlite3_reset(s->claims));
}

static void start(side *s) {
  database_must(s->db,
                "DROP TABLE IF EXISTS out; DROP TABLE IF EXISTS job; DROP TABLE IF EXISTS place;"
                "CREATE TABLE out(id INTEGER PRIMARY KEY, name TEXT);"
                "CREATE TABLE place(last INTEGER); INSERT INTO place VALUES (0);"
                "CREATE VIRTUAL TABLE job USING scan_job(events)");
  s->rows = prepare(s, s->rows_sql);
  s->output = prepare(s, "INSERT INTO out VALUES (?1, ?2)");
  s->claims = prepare(s, "SELECT job_next('job', ?1, 'w', 1000, 60)");
  s->find = prepare(s, "SELECT id FROM events WHERE id > ?1 LIMIT 1 OFFSET 999");
  s->move = prepare(s, "UPDATE place SET last = ?1");
  s->begin = prepare(s, "BEGIN IMMEDIATE");
  s->commit = prepare(s, "COMMIT");
  s->at = 0;
  s->last = 0;
  go_on(s);
  database_must(s->db, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* --- Ways to work on a bundle ------------------------------------------------------------- */

/* The rows of bundle ?1, by the job's table and by ranges of rowids; and of a range by hand. */
#define OF_TABLE " FROM job WHERE restriction = ?1"
#define OF_ROWIDS \
  " FROM job_rowids('job', ?1) AS r CROSS JOIN events AS e ON e.id BETWEEN r.first AND r.last"
#define OF_HAND " FROM events WHERE id > ?1 AND id <= ?2"

/* Writes the output for each row; the last id. */
static int64_t write_each(side *s) {
  int64_t last = -1;
  int rc;
  while ((rc = sqlite3_step(s->rows)) == SQLITE_ROW) {
    last = sqlite3_column_int64(s->rows, 0);
    const char *name = (const char *)sqlite3_column_text(s->rows, 1);
    sqlite3_bind_int64(s->output, 1, last);
    sqlite3_bind_text(s->output, 2, name, sqlite3_column_bytes(s->rows, 1), SQLITE_TRANSIENT);
    run(s, s->output);
  }
  check(s->db, sqlite3_reset(s->rows));
  return last;
}

static void bind_bundle(side *s) {
  check(s->db, sqlite3_bind_text(s->rows, 1, s->bundles[s->at++], -1, SQLITE_STATIC));
}

static void bind_range(side *s, int64_t next) {
  check(s->db, sqlite3_bind_int64(s->rows, 1, s->last));
  check(s->db, sqlite3_bind_int64(s->rows, 2, next));
  s->last = next;
}

static void each_by_job(side *s) {
  run(s, s->begin);
  bind_bundle(s);
  write_each(s);
  go_on(s);
  run(s, s->commit);
}

static void each_by_hand(side *s) {
  run(s, s->begin);
  check(s->db, sqlite3_bind_int64(s->rows, 1, s->last));
  s->last = write_each(s);
  check(s->db, sqlite3_bind_int64(s->move, 1, s->last));
  run(s, s->move);
  run(s, s->commit);
}

static void all_by_job(side *s) {
  run(s, s->begin);
  bind_bundle(s);
  run(s, s->rows);
  go_on(s);
  run(s, s->commit);
}

static void all_by_hand(side *s) {
  run(s, s->begin);
  check(s->db, sqlite3_bind_int64(s->find, 1, s->last));
  int64_t next = sqlite3_step(s->find) == SQLITE_ROW ? sqlite3_column_int64(s->find, 0) : ROWS;
  check(s->db, sqlite3_reset(s->find));
  bind_range(s, next);
  run(s, s->rows);
  check(s->db, sqlite3_bind_int64(s->move, 1, next));
  run(s, s->move);
  run(s, s->commit);
}

/* With the bookkeeping of a job, though the rows are read from the table. */
static void with_job_next(side *s) {
  run(s, s->begin);
  bind_range(s, s->last + BUNDLE);
  run(s, s->rows);
  s->at++;
  go_on(s);
  run(s, s->commit);
}

/* With nothing but a place that is moved: the least that says how far it has come. */
static void with_place(side *s) {
  run(s, s->begin);
  bind_range(s, s->last + BUNDLE);
  run(s, s->rows);
  check(s->db, sqlite3_bind_int64(s->move, 1, s->last));
  run(s, s->move);
  run(s, s->commit);
}

/* With nothing that says how far it has come. */
static void with_nothing(side *s) {
  run(s, s->begin);
  bind_range(s, s->last + BUNDLE);
  run(s, s->rows);
  run(s, s->commit);
}

static void read_by_job(side *s) {
  bind_bundle(s);
  run(s, s->rows);
}

static void read_by_hand(side *s) {
  bind_range(s, s->last + BUNDLE);
  run(s, s->rows);
}

/* Before the clock starts: a reader's bundle is claimed already. */
static void prepare_bundle(side *s) {
  if (s->work == read_by_job && s->at > 0) go_on(s);
}

/* --- Comparing ---------------------------------------------------------------------------- */

static double now_in_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/*
** Of the times with their part of a checkpoint; or of how much longer the times are than another's.
*/
static double median(const side *s, const side *other) {
  static double sorted[ROUNDS * BUNDLES];
  for (int i = 0; i < ROUNDS * BUNDLES; i++) {
    sorted[i] = s->times[i] + (other == NULL ? s->checkpoints[i] : -other->times[i]);
  }
  qsort(sorted, ROUNDS * BUNDLES, sizeof *sorted, compare_doubles);
  return sorted[ROUNDS * BUNDLES / 2];
}

static void stop(side *s, int round) {
  sqlite3_stmt *stmts[] = {s->rows, s->output, s->claims, s->find, s->move, s->begin, s->commit};
  for (size_t i = 0; i < sizeof stmts / sizeof *stmts; i++) sqlite3_finalize(stmts[i]);
  int is_reader = s->work == read_by_job || s->work == read_by_hand;
  double began = now_in_ms();
  database_must(s->db, "PRAGMA wal_checkpoint(TRUNCATE)");
  double part = is_reader ? 0 : (now_in_ms() - began) / BUNDLES;
  for (int i = 0; i < BUNDLES; i++) s->checkpoints[round * BUNDLES + i] = part;
}

/* Works through the tables, in turns. Sides without a way to work are left out. */
static void time_in_turns(side sides[SIDES]) {
  for (int i = 0; i < ROUNDS * BUNDLES; i++) {
    int is_first = i % BUNDLES == 0;
    int is_last = i % BUNDLES == BUNDLES - 1;
    for (int j = 0; j < SIDES && is_first; j++) {
      if (sides[j].work != NULL) start(&sides[j]);
    }
    for (int j = 0; j < SIDES; j++) {
      side *s = &sides[(i + j) % SIDES];
      if (s->work == NULL) continue;
      prepare_bundle(s);
      double began = now_in_ms();
      s->work(s);
      s->times[i] = now_in_ms() - began;
    }
    for (int j = 0; j < SIDES && is_last; j++) {
      if (sides[j].work != NULL) stop(&sides[j], i / BUNDLES);
    }
  }
}

static void print_times(const char *what, double ours, double theirs, const char *goal) {
  printf("%s\t%.3f ms\t%.3f ms\t%.3f\t%s\n", what, ours, theirs, ours / theirs, goal);
}

static void print(const char *what, const side *ours, const side *theirs, const char *goal) {
  double other = median(theirs, NULL);
  print_times(what, other + median(ours, theirs), other, goal);
}

/* By the job's table, by hand, and by job_rowids. */
typedef struct way {
  const char *rows_sql;
  void (*work)(side *s);
} way;

static void compare(side sides[SIDES], const way ways[SIDES]) {
  for (int i = 0; i < SIDES; i++) {
    sides[i].rows_sql = ways[i].rows_sql;
    sides[i].work = ways[i].work;
  }
  time_in_turns(sides);
}

int main(void) {
  static side sides[SIDES];
  for (int i = 0; i < SIDES; i++) {
    char name[32];
    snprintf(name, sizeof name, "bench_scan_job_%d", i);
    sides[i].db = database_open(database_path(name, sides[i].path), 0);
    database_must(
        sides[i].db,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
        "PRAGMA wal_autocheckpoint = 0;"
        "CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT);"
        "INSERT INTO events SELECT value + 1, printf('%090d', value) FROM counting_input(50000)");
  }
  static const way each[SIDES] = {
      {"SELECT id, name" OF_TABLE, each_by_job},
      {"SELECT id, name FROM events WHERE id > ?1 ORDER BY id LIMIT 1000", each_by_hand},
      {"SELECT id, name" OF_ROWIDS, each_by_job},
  };
  compare(sides, each);
  print("a backfill, row by row, against one that keeps its place in a table", &sides[0], &sides[1],
        "");
  print("the same, its rows by job_rowids", &sides[2], &sides[1], "<= 1.10");

  static const way all[SIDES] = {
      {"INSERT INTO out SELECT id, upper(name)" OF_TABLE, all_by_job},
      {"INSERT INTO out SELECT id, upper(name)" OF_HAND, all_by_hand},
      {"INSERT INTO out SELECT id, upper(name)" OF_ROWIDS, all_by_job},
  };
  compare(sides, all);
  print("a backfill by INSERT ... SELECT, against one that keeps its place in a table", &sides[0],
        &sides[1], "");
  print("the same, its rows by job_rowids", &sides[2], &sides[1], "<= 1.10");

  static const way keeping[SIDES] = {
      {"INSERT INTO out SELECT id, upper(name)" OF_HAND, with_job_next},
      {"INSERT INTO out SELECT id, upper(name)" OF_HAND, with_nothing},
      {"INSERT INTO out SELECT id, upper(name)" OF_HAND, with_place},
  };
  compare(sides, keeping);
  print("transactions of output with job_next in them, against the same without", &sides[0],
        &sides[1], "");
  double next = median(&sides[0], &sides[1]);
  double move = median(&sides[2], &sides[1]);

  static const way reading[SIDES] = {
      {"SELECT count(*), sum(length(name))" OF_TABLE, read_by_job},
      {"SELECT count(*), sum(length(name))" OF_HAND, read_by_hand},
      {"SELECT count(*), sum(length(name))" OF_ROWIDS, read_by_job},
  };
  compare(sides, reading);
  print("the rows of claimed bundles, against the same ranges of the table", &sides[0], &sides[1],
        "");
  print("the same by job_rowids", &sides[2], &sides[1], "<= 1.05");
  print_times("job_next, against a bare scan of its 1,000 rows in C", next, median(&sides[1], NULL),
              "");
  print_times("an UPDATE that moves a place by hand, against the same scan", move,
              median(&sides[1], NULL), "");
  fprintf(stderr, "job_next: %.1f us\n", next * 1000);
  for (int i = 0; i < SIDES; i++) {
    sqlite3_close(sides[i].db);
    database_remove(sides[i].path);
  }
  return 0;
}
